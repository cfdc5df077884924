#pragma once

#include <cstddef>
#include <string_view>

namespace runnel::cli {

struct CodePoint {
  char32_t value = 0;
  std::size_t bytes = 1;
  bool valid = true;  // Otherwise `value` is a byte that no UTF-8 text has there.
};

// The one at the beginning of a text that is not empty.
CodePoint first_code_point(std::string_view text);

// How many columns of a terminal it takes: none if it stands on the one before it. What has no
// width of its own (a control character, a byte that is not valid) takes one.
std::size_t columns_of(const CodePoint& point);

}  // namespace runnel::cli
