#include "search/asha.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace runnel::search {

std::vector<std::int64_t> rung_steps(const model::PrunerSpec& spec) {
  CHECK(spec.min_step > 0, "a first rung at or before the start");
  CHECK(spec.eta >= 2, "rungs that do not grow apart");
  const std::int64_t end =
      spec.max_step > 0 ? spec.max_step : std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> steps;
  for (std::int64_t step = spec.min_step; step < end; step *= spec.eta) {
    steps.push_back(step);
    if (step > end / spec.eta) break;
  }
  return steps;
}

Asha::Asha(const model::PrunerSpec& spec, Type type, std::size_t first_rung)
    : type_(type), max_step_(spec.max_step), steps_(rung_steps(spec)) {
  CHECK(first_rung <= steps_.size(), "a bracket that begins after the last rung");
  steps_.erase(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(first_rung));
  rungs_.assign(steps_.size(), Rung(spec.eta));
}

std::optional<std::int64_t> Asha::next_step(std::int64_t /*trial*/, std::int64_t step) const {
  const std::size_t next = rungs_to(step);
  if (next == steps_.size()) return std::nullopt;
  return steps_[next];
}

Verdict Asha::reported(std::int64_t trial, std::int64_t step, double value) {
  CHECK(std::isfinite(value), "a report that is no number reached a pruner");
  Progress& progress = trials_[trial];
  CHECK(!progress.ended, "a trial reported after its end");
  const std::size_t passed = rungs_to(step);
  if (progress.verdict != Verdict::kGoOn || passed <= progress.passed) return progress.verdict;
  progress.value = value;
  for (; progress.passed < passed; ++progress.passed) {
    rungs_[progress.passed].enter({value, trial});
  }
  const bool complete = max_step_ > 0 && step >= max_step_;
  if (!complete) progress.verdict = judged(rungs_[passed - 1], {value, trial});
  return progress.verdict;
}

Verdict Asha::judged(Rung& rung, const Standing& standing) const {
  if (rung.among_best(standing)) return Verdict::kGoOn;
  if (type_ == Type::kStopping) return rung.is_first(standing) ? Verdict::kGoOn : Verdict::kStop;
  rung.wait(standing);
  return Verdict::kPause;
}

void Asha::ended(std::int64_t trial) {
  Progress& progress = trials_[trial];
  progress.ended = true;
  if (progress.verdict == Verdict::kPause) {
    rungs_[progress.passed - 1].leave({progress.value, trial});
  }
}

std::optional<std::int64_t> Asha::promotable() const {
  const auto first = candidate();
  if (!first) return std::nullopt;
  return first->standing.trial;
}

std::optional<std::int64_t> Asha::leader() const {
  const auto first = furthest();
  if (!first) return std::nullopt;
  return first->standing.trial;
}

std::optional<Asha::Candidate> Asha::furthest() const {
  for (std::size_t rung = rungs_.size(); rung-- > 0;) {
    if (const auto standing = rungs_[rung].first_waiting())
      return Candidate{steps_[rung], *standing};
  }
  return std::nullopt;
}

std::optional<Asha::Candidate> Asha::candidate() const {
  for (std::size_t rung = rungs_.size(); rung-- > 0;) {
    if (const auto standing = rungs_[rung].promotable()) return Candidate{steps_[rung], *standing};
  }
  return std::nullopt;
}

void Asha::promoted(std::int64_t trial) {
  const auto found = trials_.find(trial);
  CHECK(found != trials_.end(), "a trial that never reported was promoted");
  Progress& progress = found->second;
  CHECK(!progress.ended, "a trial was promoted after its end");
  CHECK(progress.verdict != Verdict::kStop, "a trial was promoted that is not paused");
  if (progress.verdict == Verdict::kGoOn) return;  // An earlier build had paused it beside equals.
  rungs_[progress.passed - 1].leave({progress.value, trial});
  progress.verdict = Verdict::kGoOn;
}

std::size_t Asha::rungs_to(std::int64_t step) const {
  const auto next = std::upper_bound(steps_.begin(), steps_.end(), step);
  return static_cast<std::size_t>(next - steps_.begin());
}

}  // namespace runnel::search
