#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "brain/state.h"
#include "model/event.h"
#include "model/spec.h"

namespace runnel::brain {

// Attempts a task may lose in a row through no fault of its own before it is given up: a bound
// against a machine that eats every attempt.
inline constexpr std::int32_t kLossesMax = 100;
// After each loss in a row the next attempt waits longer, up to this.
inline constexpr Duration kLossBackoffMax = Duration::seconds(60);

// A gang whose port is taken tries as many others at once; then it waits as after any loss.
inline constexpr std::int32_t kPortsAtOnce = 16;

// What was lost together does not come back together: up to a quarter of the wait is added, in
// 1,024ths.
inline constexpr std::uint64_t kJitterMax = 256;

// The reason of a task that was found out to kill its runner.
inline constexpr std::string_view kRunnerLost = "RunnerLost";

// The reason of an attempt that its node could not start, through no fault of its own.
inline constexpr std::string_view kStartFailed = "StartFailed";

// How an attempt ended, before anybody asked what becomes of its task.
struct Ending {
  // The first failing rank's, or the only one's.
  model::EndCause cause = model::EndCause::kExited;
  std::int32_t code = 0;
  std::int32_t signal = 0;
  std::optional<model::Status> stopping;
  std::optional<Verdict> verdict;  // What it was asked to end for.
  bool all_succeeded = false;      // Every rank left by itself with 0.
  bool ran = false;
  Duration ran_for;
  std::string message;
  std::int32_t jitter = 0;     // Added to the wait after a loss: 0 to kJitterMax.
  std::int32_t alone_max = 0;  // Crashes of a runner that had nothing else, after which it did it.
};

struct Outcome {
  model::Status attempt = model::Status::kSucceeded;
  model::Status task = model::Status::kSucceeded;
  model::Fault fault = model::Fault::kNone;
  std::string reason;
  std::string message;
  Time not_before;
  bool charged = false;
  std::int32_t rank = -1;  // The one it names, where that is not the first to fail.
};

// What becomes of an attempt and its task: the whole retry policy in one pure function.
Outcome outcome_of(const model::StepSpec& spec, const Task& task, const Ending& ending, Time now);

}  // namespace runnel::brain
