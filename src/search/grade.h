#pragma once

#include <compare>
#include <cstdint>

#include "search/sampler.h"

namespace runnel::search {

// How an outcome ranks among others; less is better. Complete trials come first, by their first
// value; then pruned ones, by how far they came and then by their last report; then failed ones.
struct Grade {
  Outcome::Kind kind = Outcome::Kind::kFailed;
  std::int64_t steps_short = 0;  // Pruned: minus the step.
  double value = 0;

  friend auto operator<=>(const Grade&, const Grade&) = default;
};

Grade grade_of(const Outcome& outcome);

}  // namespace runnel::search
