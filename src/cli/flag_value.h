#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/arguments.h"

namespace runnel::cli {

// Values of flags. An error names the flag, the value, what it may be and what to write, which the
// words of a parser library do not.

struct Limits {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
Result<std::int64_t> parse_number(const std::string& flag, const std::string& text, Limits limits);

Result<Output> parse_output(const std::string& text);

}  // namespace runnel::cli
