#pragma once

#include <cstdint>

namespace runnel::model {

// The range of a whole number: read, checked and told of by the same two ends.
struct Limits {
  std::int64_t low;
  std::int64_t high;
};

}  // namespace runnel::model
