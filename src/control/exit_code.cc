#include "control/exit_code.h"

#include "base/check.h"

namespace runnel::control {

std::int32_t exit_code_of(model::Status status, std::int32_t code) {
  CHECK(model::is_end(status), "an unfinished task has no exit code");
  if (status == model::Status::kSucceeded) return 0;
  if (status == model::Status::kTimeout) return kExitTimeLimit;
  return code != 0 ? code : kExitFailure;
}

std::optional<std::int32_t> exit_code_of(const brain::Job& job) {
  if (!model::is_end(job.status)) return std::nullopt;
  if (job.status == model::Status::kSucceeded) return 0;
  const bool one_task = job.steps.size() == 1 && job.spec->steps.front().task_count == 1;
  if (!one_task) return kExitFailure;
  auto task = job.steps.front().tasks.find(TaskIndex(0));
  // A task that never ran has no record, and a job may have ended otherwise than its task did.
  if (task == job.steps.front().tasks.end()) return kExitFailure;
  if (!model::is_end(task->second.status)) return kExitFailure;
  if (task->second.status == model::Status::kSucceeded) return kExitFailure;
  return exit_code_of(task->second.status, task->second.exit_code);
}

}  // namespace runnel::control
