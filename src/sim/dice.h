#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"
#include "base/split_mix.h"

namespace runnel::sim {

// Chance from a seed: the same seed rolls the same on every machine and compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t next() { return numbers_.next(); }
  // Uniform in [low, high], both included.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    CHECK(low <= high, "an empty range to draw from");
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(next() % span);
  }
  bool chance(std::int64_t per_thousand) { return between(0, 999) < per_thousand; }
  template <typename T>
  const T& pick(std::span<const T> from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }

 private:
  SplitMix64 numbers_;
};

}  // namespace runnel::sim
