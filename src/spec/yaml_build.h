#pragma once

#include <memory>
#include <string>

#include "spec/yaml.h"

namespace runnel::spec {

// Values made by us instead of read from a file: of flags, of another system's file.
using YamlDraft = std::shared_ptr<YamlNode>;

// An empty value of `kind`; errors place it where `origin` stands, at its byte or its flag.
YamlDraft new_yaml(YamlNode::Kind kind, const YamlNode& origin);
// A text, never null and never taken for anything else.
YamlDraft new_yaml_text(std::string text, const YamlNode& origin);
// A value that stands without quotes: a number, a word.
YamlDraft new_yaml_plain(std::string text, const YamlNode& origin);

// Adds a member whose key stands where its value does.
void add_yaml(YamlNode& map, std::string key, YamlNodePtr value);

}  // namespace runnel::spec
