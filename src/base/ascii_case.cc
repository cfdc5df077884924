#include "base/ascii_case.h"

#include <algorithm>

namespace runnel {

std::string to_lower(std::string_view text) {
  std::string small(text);
  for (char& letter : small) letter = to_lower(letter);
  return small;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char left, char right) { return to_lower(left) == to_lower(right); });
}

}  // namespace runnel
