#pragma once

#include <cstdint>
#include <limits>

#include "base/check.h"

namespace runnel {

// a * b / c rounded down, exact in between; what does not fit into 64 bits stays at their most.
// None is negative, c is above 0.
inline std::int64_t muldiv(std::int64_t a, std::int64_t b, std::int64_t c) {
  CHECK(a >= 0 && b >= 0 && c > 0, "muldiv takes amounts");
  __extension__ using Wide = unsigned __int128;
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Wide result = static_cast<Wide>(a) * static_cast<Wide>(b) / static_cast<Wide>(c);
  return result > static_cast<Wide>(kMost) ? kMost : static_cast<std::int64_t>(result);
}

}  // namespace runnel
