#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "brain/state.h"
#include "control/recovery.h"
#include "sim/dice.h"
#include "sim/disk.h"

namespace runnel::sim {

// Folds the log of a simulated daemon: one time in four by its text, from the newest snapshot, as
// the product does; otherwise by what the disk knows that the text says, from where the last fold
// came to.
// Why: reading text is most of what a start costs, and schedules are full of starts.
class KeptFold {
 public:
  KeptFold(const Disk& disk, std::uint64_t seed) : disk_(disk), dice_(seed) {}

  Result<control::Recovered> operator()(store::EventLog& log, brain::Limits limits);

 private:
  control::Recovered go_on(const store::EventLog& log, brain::Limits limits) const;

  const Disk& disk_;
  Dice dice_;
  brain::State state_;  // What the first `batches_` of the log amount to.
  std::size_t batches_ = 0;
};

}  // namespace runnel::sim
