#pragma once

#include <cstdint>
#include <span>

#include "base/check.h"

namespace runnel::sim {

// Chance from a seed: SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, figure 16). The same seed rolls the same on every machine and compiler.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBULL;
    return mixed ^ (mixed >> 31);
  }
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
  std::uint64_t state_;
};

}  // namespace runnel::sim
