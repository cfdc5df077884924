#pragma once

#include <string>

namespace runnel::spec {

// A text as a YAML scalar that every reader, of 1.1 as of 1.2, takes for that text: plain where it
// can be, in double quotes otherwise.
std::string yaml_scalar(const std::string& text);

}  // namespace runnel::spec
