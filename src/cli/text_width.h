#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runnel::cli {

// How many columns of a terminal a text takes; control characters in it take one each.
std::size_t text_width(std::string_view text);

// The text, or its beginning and a sign that it goes on, in at most `width` columns (1 or more).
std::string cut_to(std::string_view text, std::size_t width);

// Its lines when it is broken between words. A word that is wider stays whole, on a line of its
// own.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

}  // namespace runnel::cli
