#pragma once

#include "base/split_mix.h"
#include "env/random.h"

namespace runnel::env::testing {

// The same numbers for the same seed, on every machine.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : numbers_(seed) {}

  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_;
};

}  // namespace runnel::env::testing
