#pragma once

#include <cstdint>

namespace runnel::model {

// What a whole number may be: read, checked and told of by the same two ends.
struct Limits {
  std::int64_t low;
  std::int64_t high;
};

}  // namespace runnel::model
