#pragma once

#include <string>

#include "spec/yaml.h"

namespace runnel::spec {

// The value as a YAML document in block style, which read_yaml() reads to the same value: a text of
// several lines below `|`, short lists of plain values in brackets.
std::string write_yaml(const YamlNode& root);

}  // namespace runnel::spec
