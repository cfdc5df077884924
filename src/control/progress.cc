#include "control/progress.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace runnel::control {
namespace {

constexpr Duration kTellsNothingBefore = Duration::millis(500);
constexpr double kTellsNothingBelow = 0.01;
// Nobody is at the end before it says so.
constexpr double kAlmost = 0.99;
// Trials that each place has seen to their end before they tell how long one takes.
constexpr double kRoundsSeen = 2;

double seconds(Duration duration) { return static_cast<double>(duration.millis()) / 1000; }

// Where a task is now that told where it was: between two reports it goes on.
double guessed(const TaskProgress& task) {
  const double told = std::clamp(*task.told, 0.0, 1.0);
  const double then = seconds(task.running - task.told_ago);
  const double begun = task.begun_at.value_or(told);
  if (then <= 0 || told <= begun) return told;
  return std::clamp(begun + (told - begun) * seconds(task.running) / then, told,
                    std::max(told, kAlmost));
}

// Seconds until a task that tells its share is through, at the pace of this attempt.
std::optional<double> own_left(const TaskProgress& task) {
  if (!task.told || !task.begun_at) return std::nullopt;
  const double now = guessed(task);
  if (now <= *task.begun_at) return std::nullopt;
  return seconds(task.running) * (1 - now) / (now - *task.begun_at);
}

double places_of(const StepWork& work) {
  return std::max<double>(1, static_cast<double>(work.live.size()));
}

// Those that tell how long one takes.
std::int64_t through_of(const StepWork& work) {
  return work.ended - work.failed + work.resting.value_or(0);
}

// Seconds of one task, by those that are through: live ones took part in the step's time as well.
std::optional<double> usual(const StepWork& work) {
  const std::int64_t through = through_of(work);
  if (through == 0) return std::nullopt;
  double beside = 0;
  for (const TaskProgress& task : work.live) beside += seconds(task.running);
  return std::max(
      0.001, (seconds(work.running) * places_of(work) - beside) / static_cast<double>(through));
}

// Tasks that are behind the step, parts of live ones included, without those that failed.
double behind(const StepWork& work) {
  const std::optional<double> one = usual(work);
  double sum = static_cast<double>(work.ended - work.failed) + work.paused;
  for (const TaskProgress& task : work.live) {
    if (task.told) {
      sum += guessed(task);
    } else if (one) {
      sum += std::min(kAlmost, seconds(task.running) / *one);
    }
  }
  return sum;
}

// Seconds left of a live trial, when one takes `usual` seconds: never more than it says itself.
double trial_left(const TaskProgress& trial, double usual) {
  const double by_others = std::max(0.0, usual - seconds(trial.running));
  const std::optional<double> own = own_left(trial);
  if (!own) return by_others;
  return by_others > 0 ? std::min(by_others, *own) : *own;
}

std::optional<Duration> left_of_search(const StepWork& work) {
  CHECK(work.resting.has_value(), "a search knows how many of its trials rest");
  CHECK(*work.resting >= 0, "fewer than no trials rest");
  const double places = places_of(work);
  const std::int64_t through = through_of(work);
  if (static_cast<double>(through) < kRoundsSeen * places) return std::nullopt;
  const std::optional<double> one = usual(work);
  const std::int64_t begun = through + work.failed + static_cast<std::int64_t>(work.live.size());
  double left = *one * static_cast<double>(std::max<std::int64_t>(0, work.tasks - begun));
  double longest = 0;
  for (const TaskProgress& trial : work.live) {
    const double own = trial_left(trial, *one);
    left += own;
    longest = std::max(longest, own);
  }
  return Duration::millis(std::llround(std::max(longest, left / places) * 1000));
}

// One task that is alone: what it found when it began says nothing of its pace.
bool is_alone(const StepWork& work) { return work.tasks == 1 && work.live.size() == 1; }

std::optional<Duration> left_of(const StepWork& work) {
  if (work.ended == work.tasks) return Duration();
  if (work.running < kTellsNothingBefore) return std::nullopt;
  if (work.resting) return left_of_search(work);
  const double share = std::min(1.0, behind(work) / static_cast<double>(work.tasks - work.failed));
  if (share < kTellsNothingBelow) return std::nullopt;
  if (is_alone(work)) {
    const std::optional<double> left = own_left(work.live.front());
    if (!left) return std::nullopt;
    return Duration::millis(std::llround(std::max(0.0, *left) * 1000));
  }
  return Duration::millis(std::llround(seconds(work.running) * (1 - share) / share * 1000));
}

}  // namespace

StepProgress progress_of(const StepWork& work) {
  CHECK(work.tasks > 0, "a step without tasks has no progress");
  CHECK(work.ended <= work.tasks, "more tasks ended than the step has");
  CHECK(work.failed <= work.ended, "more tasks failed than ended");
  const auto tasks = static_cast<double>(work.tasks);
  double told = static_cast<double>(work.ended) + work.paused;
  for (const TaskProgress& task : work.live) told += std::clamp(task.told.value_or(0), 0.0, 1.0);
  return {std::min(1.0, told / tasks), left_of(work)};
}

}  // namespace runnel::control
