#include "control/first_failure.h"

#include "control/exit_code.h"

namespace runnel::control {
namespace {

using model::Status;

bool has_failed(Status status) {
  return status == Status::kFailed || status == Status::kTimeout || status == Status::kOutOfMemory;
}

}  // namespace

std::optional<FirstFailure> first_failure(const brain::Job& job) {
  if (job.status != Status::kFailed && job.status != Status::kCancelled) return std::nullopt;
  std::int64_t looked_at = 0;
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    const Status step = job.steps[position].status;
    if (step != Status::kFailed && step != Status::kCancelled) continue;
    for (const auto& [index, task] : job.steps[position].tasks) {
      if (++looked_at > kTasksLookedAtMax) return std::nullopt;
      if (!has_failed(task.status)) continue;
      return FirstFailure{StepIndex(static_cast<std::int32_t>(position)), index,
                          exit_code_of(task.status, task.exit_code), task.reason};
    }
  }
  return std::nullopt;
}

}  // namespace runnel::control
