#pragma once

#include <string>
#include <string_view>

namespace runnel {

// The letters A to Z made small, whatever the locale is; every other byte stays.
constexpr char to_lower(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}
std::string to_lower(std::string_view text);

// The letters a to z made large.
constexpr char to_upper(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace runnel
