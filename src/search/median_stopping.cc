#include "search/median_stopping.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace runnel::search {

MedianStopping::MedianStopping(const model::PrunerSpec& spec)
    : min_step_(spec.min_step),
      max_step_(spec.max_step),
      every_(spec.every),
      startup_trials_(spec.startup_trials) {
  CHECK(min_step_ > 0, "a first judgement at or before the start");
  CHECK(every_ > 0, "judgements that do not move on");
}

std::optional<std::int64_t> MedianStopping::next_step(std::int64_t /*trial*/,
                                                      std::int64_t step) const {
  std::int64_t next = min_step_;
  if (step >= min_step_) {
    const std::int64_t last = step - (step - min_step_) % every_;
    if (last > std::numeric_limits<std::int64_t>::max() - every_) return std::nullopt;
    next = last + every_;
  }
  if (complete(next)) return std::nullopt;
  return next;
}

Verdict MedianStopping::reported(std::int64_t trial, std::int64_t step, double value) {
  CHECK(std::isfinite(value), "a report that is no number reached a pruner");
  Progress& progress = trials_[trial];
  CHECK(!progress.ended, "a trial reported after its end");
  if (progress.stopped) return Verdict::kStop;
  if (step < min_step_ || complete(step)) return Verdict::kGoOn;
  const std::int64_t judgement = (step - min_step_) / every_;
  if (judgement <= progress.judged) return Verdict::kGoOn;

  progress.count += 1;
  progress.average += value / progress.count - progress.average / progress.count;
  progress.judged = judgement;
  RunningMedian& others = averages_[judgement];
  const Verdict verdict = judged(progress, others);
  others.add(progress.average);
  progress.stopped = verdict == Verdict::kStop;
  return verdict;
}

Verdict MedianStopping::judged(const Progress& progress, const RunningMedian& others) const {
  if (ended_ < startup_trials_ || others.count() == 0) return Verdict::kGoOn;
  return progress.average > others.median() ? Verdict::kStop : Verdict::kGoOn;
}

void MedianStopping::ended(std::int64_t trial) {
  Progress& progress = trials_[trial];
  if (!progress.ended) ++ended_;
  progress.ended = true;
}

void MedianStopping::promoted(std::int64_t /*trial*/) {
  CHECK(false, "a trial was promoted where none is ever paused");
}

}  // namespace runnel::search
