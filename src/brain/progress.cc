#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "brain/trials.h"
#include "brain/turn.h"

namespace runnel::brain {
namespace {

using model::Status;

bool any_of(const StatusCounts& counts, std::initializer_list<Status> statuses) {
  return std::any_of(statuses.begin(), statuses.end(),
                     [&](Status status) { return count_of(counts, status) > 0; });
}

constexpr std::initializer_list<Status> kFailures = {Status::kFailed, Status::kTimeout,
                                                     Status::kOutOfMemory};

Status end_of_step(const Step& step) {
  const StatusCounts& counts = step.counts;
  // A user's word decides, whatever had failed before it; what failed stays in the counts.
  if (any_of(counts, {Status::kCancelled})) return Status::kCancelled;
  if (step.study) {
    // A search is there to find one; what was tried and failed is in its numbers.
    if (!step.study->stopped.empty()) return Status::kFailed;
    if (step.study->best < 0 && !any_of(counts, {Status::kSkipped})) return Status::kFailed;
  } else if (any_of(counts, kFailures)) {
    return Status::kFailed;
  }
  if (any_of(counts, {Status::kSkipped})) return Status::kSkipped;
  return Status::kSucceeded;
}

// What the step's status should be, by its tasks.
Status derived_status(const Step& step) {
  if (all_ended(step.counts)) return end_of_step(step);
  if (any_of(step.counts, {Status::kStarting, Status::kRunning})) return Status::kRunning;
  const bool waiting = any_of(step.counts, {Status::kQueued, Status::kRecovering});
  if (!waiting && any_of(step.counts, {Status::kPaused})) return Status::kPaused;
  return step.status;  // Between two attempts nothing changes.
}

std::string failure_message(const Step& step) {
  const std::int64_t failed = count_of(step.counts, Status::kFailed) +
                              count_of(step.counts, Status::kTimeout) +
                              count_of(step.counts, Status::kOutOfMemory);
  if (step.study && !step.study->stopped.empty()) return step.study->stopped;
  if (step.study && step.study->best >= 0) return "";
  if (failed == 0) return step.study && all_ended(step.counts) ? "no trial gave a value" : "";
  for (const auto& [index, task] : step.tasks) {
    const bool failed_itself =
        std::find(kFailures.begin(), kFailures.end(), task.status) != kFailures.end();
    if (!failed_itself) continue;
    const std::string first = "task " + std::to_string(index.value());
    if (failed == 1) return first + " failed (" + task.reason + ")";
    return std::to_string(failed) + " tasks failed, first " + first + " (" + task.reason + ")";
  }
  return std::to_string(failed) + (failed == 1 ? " task failed" : " tasks failed");
}

std::vector<StepIndex> dependents(const Job& job, StepIndex step) {
  std::vector<StepIndex> found;
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    const auto& needs = job.spec->steps[position].depends_on;
    if (std::find(needs.begin(), needs.end(), step) == needs.end()) continue;
    found.emplace_back(static_cast<std::int32_t>(position));
  }
  return found;
}

// A step whose dependency did not succeed never runs: all its waiting tasks are skipped.
void skip_step(Turn& turn, const JobId& job, StepIndex step, const std::string& because) {
  const std::int64_t tasks = spec_of(turn.state(), job, step).task_count;
  turn.emit(
      model::TasksChanged{job, step, {{0, tasks}}, Status::kSkipped, "DependencyFailed", "runnel"});
  turn.emit(model::StepChanged{job, step, Status::kSkipped, "DependencyFailed",
                               "step '" + because + "' did not succeed"});
}

void release_dependents(Turn& turn, const StepKey& ended) {
  const Job& job = turn.state().jobs.at(ended.job);
  const auto position = static_cast<std::size_t>(ended.step.value());
  const bool succeeded = job.steps[position].status == Status::kSucceeded;
  for (StepIndex next : dependents(job, ended.step)) {
    const Step& step = job.steps[static_cast<std::size_t>(next.value())];
    if (model::is_end(step.status)) continue;
    // Halted tasks wait for their user; cancelled ones end by themselves.
    const bool idle = !any_of(step.counts, {Status::kStarting, Status::kRunning});
    if (!succeeded && idle && !any_of(step.counts, {Status::kCancelled})) {
      skip_step(turn, ended.job, next, job.spec->steps[position].name);
      release_dependents(turn, StepKey{ended.job, next});
    }
    turn.want_plan();
  }
}

Status end_of_job(const Job& job) {
  const auto any_is = [&](Status status) {
    return std::any_of(job.steps.begin(), job.steps.end(),
                       [&](const Step& step) { return step.status == status; });
  };
  if (any_is(Status::kCancelled)) return Status::kCancelled;
  return any_is(Status::kFailed) ? Status::kFailed : Status::kSucceeded;
}

std::optional<Status> derived_job_status(const Job& job) {
  bool ended = true;
  bool running = false;
  bool paused = false;
  bool queued = false;
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    const Step& step = job.steps[position];
    ended = ended && model::is_end(step.status);
    running = running || any_of(step.counts, {Status::kStarting, Status::kRunning});
    paused = paused || step.status == Status::kPaused;
    queued = queued || (step.status == Status::kQueued &&
                        may_run(job, StepIndex(static_cast<std::int32_t>(position))));
  }
  if (ended) return end_of_job(job);
  if (running) return Status::kRunning;
  if (paused && !queued) return Status::kPaused;
  return std::nullopt;
}

// Tasks that failed did not cancel the job.
std::string end_message(const Job& job, Status to) {
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    const Step& step = job.steps[position];
    if (step.status != Status::kFailed && step.status != Status::kCancelled) continue;
    const std::string message = failure_message(step);
    if (message.empty()) continue;
    const std::string failure = "step '" + job.spec->steps[position].name + "': " + message;
    return to == Status::kCancelled ? "cancelled on request; before that, " + failure : failure;
  }
  return "";
}

std::string reason_for(Status status) {
  switch (status) {
    case Status::kSucceeded: return "Completed";
    case Status::kFailed: return "TaskFailed";
    case Status::kCancelled: return "Cancelled";
    case Status::kPaused: return "Halted";
    case Status::kRunning: return "Started";
    case Status::kSkipped: return "DependencyFailed";
    default: return "";
  }
}

void progress_job(Turn& turn, const JobId& id) {
  const Job& job = turn.state().jobs.at(id);
  const std::optional<Status> to = derived_job_status(job);
  if (!to.has_value() || *to == job.status) return;
  CHECK(model::allowed(model::Level::kJob, job.status, *to), "a job would skip its state table");
  const std::string message = model::is_end(*to) ? end_message(job, *to) : "";
  turn.emit(model::JobChanged{id, *to, reason_for(*to), message, "runnel"});
}

}  // namespace

void progress_step(Turn& turn, const StepKey& key) {
  if (!turn.state().jobs.contains(key.job)) return;
  steer_search(turn, key);
  const Step& step = step_of(turn.state(), key.job, key.step);
  const Status to = derived_status(step);
  if (to != step.status) {
    CHECK(model::allowed(model::Level::kStep, step.status, to),
          "a step would skip its state table");
    turn.emit(model::StepChanged{key.job, key.step, to, reason_for(to), failure_message(step)});
    if (model::is_end(to)) release_dependents(turn, key);
  }
  progress_job(turn, key.job);
}

}  // namespace runnel::brain
