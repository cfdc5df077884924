#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "brain/state.h"

namespace runnel::control {

// The first task that failed of a job that has, or that was cancelled later: what a person looks at
// first.
struct FirstFailure {
  StepIndex step;
  TaskIndex task;
  std::int32_t exit_code = 0;
  std::string reason;
};

// Nothing for a job that goes on or has succeeded, or whose first failure is beyond
// kTasksLookedAtMax.
inline constexpr std::int64_t kTasksLookedAtMax = 10'000;
std::optional<FirstFailure> first_failure(const brain::Job& job);

}  // namespace runnel::control
