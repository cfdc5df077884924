#pragma once

#include <string>

namespace runnel::cli {

// A number with six significant digits, as a table shows it; any other text as it is.
std::string short_number(const std::string& text);

}  // namespace runnel::cli
