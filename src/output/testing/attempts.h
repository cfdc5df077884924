#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "model/refs.h"

namespace runnel::output::testing {

// An attempt in the first step of a job named "job".
inline model::AttemptRef attempt_of(std::int64_t task, std::int32_t attempt = 1) {
  return {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(attempt)};
}

// Empty where there is none.
inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Two digits a byte.
inline std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += {kDigits[value >> 4], kDigits[value & 15]};
  }
  return hex;
}

}  // namespace runnel::output::testing
