#pragma once

#include <cstdint>

namespace runnel {

// SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014,
// figure 16): the same numbers for the same seed, on every machine and compiler. Not for secrets.

inline constexpr std::uint64_t kGoldenGamma = 0x9E3779B97F4A7C15;  // 2^64 / the golden ratio.

// Scrambles 64 bits so that each input bit sways each output bit; a bijection (the finaliser).
constexpr std::uint64_t scramble(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  constexpr std::uint64_t next() { return scramble(state_ += kGoldenGamma); }

 private:
  std::uint64_t state_;
};

}  // namespace runnel
