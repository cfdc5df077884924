#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "model/search_spec.h"
#include "search/pruner.h"
#include "search/running_median.h"

namespace runnel::search {

// Stops a trial that does worse than the middle one of the others did by the same step (Golovin et
// al., "Google Vizier: A Service for Black-Box Optimization", KDD 2017, section 3.2.2).
//
// Judged steps are min_step + k * every, below max_step when that is known. At each of them the
// average of a trial's judged reports so far is held against the median of what these averages were
// for the others. It is stopped when it is worse, once startup_trials have ended. Nothing is ever
// paused. Unlike in the paper, a trial's average and not its best is compared, so that one lucky
// report does not carry it on, and with running and stopped trials too, so that the few which ended
// are not the measure: both leave less regret for the same steps (bench/pruning_bench.cc).
//
// Contract: as Pruner. A report counts for the last judged step that it reached; those that it
//           jumped over get nothing of it. The others are all that reported for that step before,
//           however they went on. A trial that was told to stop hears the same until it ends; a
//           report of a trial that ended is our bug.
// Cost:     O(log n) a call with n trials; a number is kept for each report that was judged.
class MedianStopping final : public Pruner {
 public:
  explicit MedianStopping(const model::PrunerSpec& spec);

  std::optional<std::int64_t> next_step(std::int64_t trial, std::int64_t step) const override;
  Verdict reported(std::int64_t trial, std::int64_t step, double value) override;
  void ended(std::int64_t trial) override;
  std::optional<std::int64_t> promotable() const override { return std::nullopt; }
  std::optional<std::int64_t> leader() const override { return std::nullopt; }
  void promoted(std::int64_t trial) override;

 private:
  struct Progress {
    std::int64_t judged = -1;  // The last judgement that it reached; they count from 0.
    double count = 0;          // Reports so far.
    double average = 0;
    bool stopped = false;
    bool ended = false;
  };

  bool complete(std::int64_t step) const { return max_step_ > 0 && step >= max_step_; }
  Verdict judged(const Progress& progress, const RunningMedian& others) const;

  std::int64_t min_step_;
  std::int64_t max_step_;
  std::int64_t every_;
  std::int64_t startup_trials_;
  std::int64_t ended_ = 0;
  std::unordered_map<std::int64_t, Progress> trials_;
  std::unordered_map<std::int64_t, RunningMedian> averages_;  // By judgement.
};

}  // namespace runnel::search
