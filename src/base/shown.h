#pragma once

#include <string>
#include <string_view>
#include <vector>

// How an error repeats what a person wrote.
namespace runnel {

// One line and not too long; what is left out is told by "...". Stays UTF-8.
std::string shown(std::string_view text);
// "`a`, `b`, `c`".
std::string listed(const std::vector<std::string_view>& words);

}  // namespace runnel
