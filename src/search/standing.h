#pragma once

#include <cstdint>
#include <tuple>

namespace runnel::search {

// A trial by what it reached. The smaller value stands first, of equal ones the earlier trial, so
// that there are no ties.
struct Standing {
  double value = 0;
  std::int64_t trial = 0;
  friend bool operator==(const Standing&, const Standing&) = default;
  friend bool operator<(const Standing& a, const Standing& b) {
    return std::tie(a.value, a.trial) < std::tie(b.value, b.trial);
  }
};

}  // namespace runnel::search
