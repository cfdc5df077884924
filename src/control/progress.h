#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"

namespace runnel::control {

// A task on its way, as far as it tells.
struct TaskProgress {
  Duration running;            // Since its attempt began.
  std::optional<double> told;  // 0 to 1: the furthest that any attempt of it has reported.
  Duration told_ago;           // How old the last report is.
  // Where this attempt began, as far as that is seen; a first one begins at 0. Only what an attempt
  // has done itself tells its pace: not what it found, nor the time in which nobody ran.
  std::optional<double> begun_at = 0;
};

// What a step has behind it.
struct StepWork {
  std::int64_t tasks = 1;
  std::int64_t ended = 0;  // Whatever their end.
  // Those of `ended` that did not come to their goal: they tell nothing of how long one takes.
  std::int64_t failed = 0;
  double paused = 0;  // What those that rest have behind them, in tasks.
  // Trials of a search that have begun and rest. Few of them go on, so that for the time that a
  // trial takes they count as through.
  std::optional<std::int64_t> resting;
  Duration running;  // Since the step began.
  std::vector<TaskProgress> live;
};

struct StepProgress {
  double done = 0;               // 0 to 1; grows as long as nothing is tried anew.
  std::optional<Duration> left;  // Nothing while there is too little to tell by.
};

// How far a step is and how long it will take at the pace that it had so far.
//
// `done` counts ended tasks and what live ones told, and nothing that was guessed. For `left` a
// live task is believed to go on at the pace of its reports, and one that tells nothing at the pace
// of those that have ended. A search takes for each trial that is left what those took that are
// through, most of which ended early; it tells nothing before each place has seen two of them.
StepProgress progress_of(const StepWork& work);

}  // namespace runnel::control
