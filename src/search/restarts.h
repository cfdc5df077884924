#pragma once

#include <cstddef>
#include <cstdint>

#include "search/random_stream.h"

namespace runnel::search {

// How large the next run of CMA-ES is: the first one as told; then whichever regime has cost less
// so far, a population that doubles each time, or a small one with a short first step (BIPOP:
// Hansen 2009, section 2).
class Restarts {
 public:
  explicit Restarts(std::size_t population) : first_(population), population_(population) {}

  std::uint64_t count() const { return count_; }
  std::size_t population() const { return population_; }
  double step() const { return step_; }  // Relative to that of the first run.
  // The run ended after so many samples.
  void next(std::int64_t samples, RandomStream& stream);

  // What a population may grow to, as a multiple of the first.
  static constexpr std::size_t kLargestFactor = 64;

 private:
  std::size_t first_;
  std::size_t population_;
  double step_ = 1;
  std::size_t large_ = 1;  // The largest population, as a multiple of the first.
  bool small_now_ = false;
  std::int64_t small_cost_ = 0;
  std::int64_t large_cost_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace runnel::search
