#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "model/health.h"

namespace runnel::agent {

// How long the ranks of a gang take for their steps, and who takes much longer than the others.
//
// Contract: a rank's own measure, where any rank tells one (step_seconds), else seconds per step
//           over windows of kWindow at least, which says something only of ranks that advance by
//           themselves. slowest() names a rank each of whose last kSlowStepsMin measurements is
//           over the limit, when more than half of the others have as many. Ranks that are over
//           count among the others.
// Threads:  one at a time.
// Limits:   kSlowStepsMin measurements of each kind per rank that reported any.
class RankPaces {
 public:
  static constexpr Duration kWindow = Duration::seconds(5);

  // The rank was heard to be at `step`; `own`: what it says that the step took.
  void add(std::int32_t rank, std::int64_t step, std::optional<Micros> own, Duration now);

  struct Slow {
    std::int32_t rank = 0;
    Micros took;
    Micros median;
    std::int64_t step = -1;
  };
  // The slowest of the gang's `ranks`, if it takes `factor_permille` thousandths of the median of
  // the others or more.
  std::optional<Slow> slowest(std::int32_t ranks, std::int64_t factor_permille) const;

 private:
  using Measurements = std::deque<Micros>;
  struct Rank {
    Measurements own;
    Measurements paced;
    std::int64_t own_step = -1;  // The step of the last own measurement.
    std::int64_t step = -1;
    std::int64_t window_step = -1;
    Duration window_begun;
  };
  const Measurements& measured(const Rank& rank) const { return told_ ? rank.own : rank.paced; }

  std::map<std::int32_t, Rank> ranks_;
  bool told_ = false;  // Some rank tells its own measure.
};

// From the text of `step_seconds`; nothing for what cannot be a step's time.
std::optional<Micros> step_time(const std::string& seconds);

}  // namespace runnel::agent
