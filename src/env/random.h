#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace runnel::env {

// A source of chance: for ids, tokens and jitter, never inside the brain, whose seeds are
// arguments.
//
// Threads: the real one any; a test's is its own.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;
};

// The kernel's, fit for secrets.
Random& real_random();

// `digits` lower-case hexadecimal digits; 32 make a token nobody guesses.
std::string random_hex(Random& random, std::size_t digits);

}  // namespace runnel::env
