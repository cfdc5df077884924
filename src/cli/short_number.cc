#include "cli/short_number.h"

#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace runnel::cli {

std::string short_number(const std::string& text) {
  constexpr std::size_t kShort = 7;  // Six digits and a point.
  if (text.size() <= kShort) return text;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return text;
  char out[32];
  const int written = std::snprintf(out, sizeof out, "%.6g", number);
  CHECK(written > 0 && written < static_cast<int>(sizeof out), "a number of six digits is short");
  return out;
}

}  // namespace runnel::cli
