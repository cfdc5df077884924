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

double seconds(Duration duration) { return static_cast<double>(duration.millis()) / 1000; }

// Where a task is now that told where it was: between two reports it goes on.
double guessed(const TaskProgress& task) {
  const double told = std::clamp(*task.told, 0.0, 1.0);
  const double then = seconds(task.running - task.told_ago);
  if (then <= 0) return told;
  return std::clamp(told * seconds(task.running) / then, told, std::max(told, kAlmost));
}

// Seconds of one task, by those that have ended: live ones took part in the step's time as well.
std::optional<double> usual(const StepWork& work) {
  if (work.ended == 0) return std::nullopt;
  double beside = 0;
  for (const TaskProgress& task : work.live) beside += seconds(task.running);
  const double places = std::max<double>(1, static_cast<double>(work.live.size()));
  return std::max(0.001,
                  (seconds(work.running) * places - beside) / static_cast<double>(work.ended));
}

// Tasks that are behind the step, parts of live ones included.
double behind(const StepWork& work) {
  const std::optional<double> one = usual(work);
  double sum = static_cast<double>(work.ended) + work.paused;
  for (const TaskProgress& task : work.live) {
    if (task.told) {
      sum += guessed(task);
    } else if (one) {
      sum += std::min(kAlmost, seconds(task.running) / *one);
    }
  }
  return sum;
}

}  // namespace

StepProgress progress_of(const StepWork& work) {
  CHECK(work.tasks > 0, "a step without tasks has no progress");
  CHECK(work.ended <= work.tasks, "more tasks ended than the step has");
  const auto tasks = static_cast<double>(work.tasks);
  double told = static_cast<double>(work.ended) + work.paused;
  for (const TaskProgress& task : work.live) told += std::clamp(task.told.value_or(0), 0.0, 1.0);
  StepProgress progress{std::min(1.0, told / tasks), std::nullopt};
  const double share = std::min(1.0, behind(work) / tasks);
  if (work.ended == work.tasks) {
    progress.left = Duration();
  } else if (share >= kTellsNothingBelow && work.running >= kTellsNothingBefore) {
    progress.left =
        Duration::millis(std::llround(seconds(work.running) * (1 - share) / share * 1000));
  }
  return progress;
}

}  // namespace runnel::control
