#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "extract/number.h"

namespace runnel::extract {

// A pattern with its macros written out.
struct Expanded {
  std::string regex;
  // The kinds of macros' fields; of a field of `(?P<name>...)` nobody says.
  enum class Kind : std::uint8_t { kNumber, kHexNumber, kText };
  std::map<std::string, Kind> fields;
};

// Writes `%{FLOAT}` and `%{FLOAT:loss}` out. kInvalid whose value is the macro as it was written.
Result<Expanded> expand_macros(std::string_view pattern);

}  // namespace runnel::extract
