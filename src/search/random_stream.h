#pragma once

#include <cstdint>

namespace runnel::search {

// An endless row of random numbers that a key picks: the same in every build.
//
// Contract: a value; copies go on alike. Draw n of a key is derive(key, n), so rows of different
//           keys share nothing.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key) : key_(key) {}

  std::uint64_t bits();
  double uniform();                         // In [0, 1), 53 bits.
  std::uint64_t below(std::uint64_t size);  // 0 .. size-1; size is at least 1.
  // Normal with mean 0 and deviation 1 (Box and Muller, "A note on the generation of random normal
  // deviates", 1958; one of the pair). Its last digit rests on the platform's log and cos.
  double normal();

 private:
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
};

}  // namespace runnel::search
