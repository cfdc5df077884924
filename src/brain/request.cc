#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/turn.h"

namespace runnel::brain {
namespace {

using model::Status;
using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The tasks without a live attempt that `wanted` accepts, as ranges.
template <typename Predicate>
Ranges idle_tasks(const Step& step, Predicate wanted) {
  IntervalSet found;
  for (const auto& [status, set] : step.plain) {
    if (!wanted(status)) continue;
    for (const auto& [begin, end] : set.ranges()) found.insert(begin, end);
  }
  for (const auto& [index, task] : step.tasks) {
    if (!task.live.has_value() && wanted(task.status)) found.insert(index.value());
  }
  return found.ranges();
}

StepIndex step_index(std::size_t position) {
  return StepIndex(static_cast<std::int32_t>(position));
}

bool unfinished(Status status) { return !model::is_end(status); }

bool can_be_retried(const Job& job) {
  return model::is_end(job.status) && job.status != Status::kSucceeded;
}

void stop_live_attempts(Turn& turn, const JobId& job, StepIndex step, Status because,
                        const std::string& actor) {
  std::vector<std::pair<model::AttemptRef, LaneId>> live;
  for (const auto& [index, task] : step_of(turn.state(), job, step).tasks) {
    if (!task.live.has_value() || task.live->stopping == because) continue;
    // A halt does not soften a cancellation.
    if (task.live->stopping == Status::kCancelled) continue;
    live.emplace_back(model::AttemptRef{{job, step, index}, task.live->number}, task.live->lane);
  }
  for (auto& [attempt, lane] : live) {
    turn.emit(model::AttemptStopping{attempt, lane, because, actor});
  }
}

// Cancels or pauses every task of the job that has not ended.
void stop_job(Turn& turn, const Job& job, Status because, const std::string& reason,
              const std::string& actor) {
  const std::size_t steps = job.steps.size();
  for (std::size_t position = 0; position < steps; ++position) {
    const StepIndex step = step_index(position);
    Ranges idle = idle_tasks(job.steps[position], [&](Status status) {
      return unfinished(status) && status != because;
    });
    if (!idle.empty()) {
      turn.emit(model::TasksChanged{job.id, step, std::move(idle), because, reason, actor});
    }
    stop_live_attempts(turn, job.id, step, because, actor);
    turn.touch_step(job.id, step);
  }
  turn.want_plan();  // Those that waited behind it may have room now, though nothing has ended yet.
}

Error not_now(const Job& job, std::string what, std::string hint) {
  return Error(Errc::kConflict, "job " + job.id.str() + " is " +
                                    std::string(model::to_string(job.status)) + ": " +
                                    std::move(what))
      .with_field("status")
      .with_value(std::string(model::to_string(job.status)))
      .with_hint(std::move(hint));
}

void cancel(Turn& turn, const Job& job, const std::string& actor) {
  if (model::is_end(job.status)) {
    turn.refusal =
        not_now(job, "it has ended and cannot be cancelled", "runnel show " + job.id.str());
    return;
  }
  stop_job(turn, job, Status::kCancelled, "Cancelled", actor);
}

void halt(Turn& turn, const Job& job, const std::string& actor) {
  if (model::is_end(job.status)) {
    turn.refusal = not_now(job, "it has ended and cannot be halted", "runnel show " + job.id.str());
    return;
  }
  if (!job.halted) turn.emit(model::JobHalted{job.id, actor});
  stop_job(turn, job, Status::kPaused, "Halted", actor);
}

std::int64_t ending_attempts(const Job& job) {
  std::int64_t count = 0;
  for (const Step& step : job.steps) {
    for (const auto& [index, task] : step.tasks) {
      if (task.live.has_value() && task.live->stopping == Status::kPaused) ++count;
    }
  }
  return count;
}

// Parked trials are the search's to bring back.
Ranges without_parked(const Step& step, const Ranges& ranges) {
  if (!step.study || step.study->parked == 0) return ranges;
  IntervalSet left;
  for (const auto& [begin, end] : ranges) left.insert(begin, end);
  for (std::size_t i = 0; i < step.study->trials.size(); ++i) {
    if (step.study->trials[i].parked) left.erase(static_cast<std::int64_t>(i));
  }
  return left.ranges();
}

void resume(Turn& turn, const Job& job, const std::string& actor) {
  const std::int64_t ending = ending_attempts(job);
  if (ending > 0) {
    turn.refusal = not_now(job, std::to_string(ending) + " attempt(s) are still ending after halt",
                           "wait for them: runnel wait " + job.id.str() + ", then resume");
    turn.refusal->with_field(std::string(model::kEndingAttempts))
        .with_value(std::to_string(ending));
    return;
  }
  if (job.status != Status::kPaused) {
    const std::string then = can_be_retried(job) ? "runnel retry " : "runnel show ";
    turn.refusal = not_now(job, "only a halted job can be resumed", then + job.id.str());
    return;
  }
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    Ranges paused = without_parked(
        job.steps[position],
        idle_tasks(job.steps[position], [](Status status) { return status == Status::kPaused; }));
    const StepIndex step = step_index(position);
    if (!paused.empty()) {
      turn.emit(
          model::TasksChanged{job.id, step, std::move(paused), Status::kQueued, "Resumed", actor});
    }
    if (job.steps[position].status != Status::kPaused) continue;
    turn.emit(model::StepChanged{job.id, step, Status::kQueued, "Resumed", ""});
    turn.touch_step(job.id, step);  // A search may have only parked trials left.
  }
  turn.emit(model::JobChanged{job.id, Status::kQueued, "Resumed", "", actor});
  turn.want_plan();
}

bool worth_retrying(Status status) { return model::reopenable(model::Level::kTask, status); }

// The step that failed although no task of it can be tried again: a search that pruned all trials.
const model::StepSpec* beyond_retry(const Job& job) {
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    const Step& step = job.steps[position];
    if (step.status != Status::kFailed || !idle_tasks(step, worth_retrying).empty()) continue;
    return &job.spec->steps[position];
  }
  return nullptr;
}

std::optional<Error> cannot_retry(const Job& job) {
  if (!can_be_retried(job)) {
    return not_now(job, "only a failed or cancelled job can be retried",
                   "runnel show " + job.id.str());
  }
  if (const model::StepSpec* step = beyond_retry(job)) {
    return not_now(job, "no trial of step '" + step->name + "' can be tried again",
                   "submit it again, with more trials or another search");
  }
  return std::nullopt;
}

void retry(Turn& turn, const Job& job, const std::string& actor) {
  turn.refusal = cannot_retry(job);
  if (turn.refusal) return;
  turn.emit(model::JobChanged{job.id, Status::kQueued, "Retried", "", actor});
  for (std::size_t position = 0; position < job.steps.size(); ++position) {
    // A search that found something has succeeded, whatever became of some trials.
    if (job.steps[position].status == Status::kSucceeded) continue;
    Ranges again = idle_tasks(job.steps[position], worth_retrying);
    if (again.empty()) continue;
    const StepIndex step = step_index(position);
    turn.emit(model::StepChanged{job.id, step, Status::kQueued, "Retried", ""});
    turn.emit(
        model::TasksChanged{job.id, step, std::move(again), Status::kQueued, "Retried", actor});
    turn.touch_step(job.id, step);
  }
  turn.want_plan();
}

void remove(Turn& turn, const Job& job, const std::string& actor) {
  if (!model::is_end(job.status)) {
    turn.refusal =
        not_now(job, "an unfinished job cannot be deleted", "runnel cancel " + job.id.str());
    return;
  }
  turn.emit(model::JobDeleted{job.id, actor});
}

Error no_such_job(const JobId& job) {
  return Error(Errc::kNotFound, "there is no job " + job.str())
      .with_value(job.str())
      .with_hint("list them: runnel ps -a");
}

void on_job(Turn& turn, const Job& job, const model::JobRequest& input) {
  switch (input.verb) {
    case model::JobRequest::Verb::kCancel: return cancel(turn, job, input.actor);
    case model::JobRequest::Verb::kHalt: return halt(turn, job, input.actor);
    case model::JobRequest::Verb::kResume: return resume(turn, job, input.actor);
    case model::JobRequest::Verb::kRetry: return retry(turn, job, input.actor);
    case model::JobRequest::Verb::kDelete: return remove(turn, job, input.actor);
  }
}

// A finished job refuses everything but to be tried again, for which it comes back into the state.
void on_archived(Turn& turn, const model::JobRequest& input) {
  const Result<Job> job = decode_job(input.record);
  if (!job.ok() || job->id != input.job) {
    turn.refusal = Error(Errc::kCorrupt,
                         "the archive's record of job " + input.job.str() + " is not understood")
                       .with_hint("runnel fsck tells what can be saved");
    return;
  }
  if (input.verb != model::JobRequest::Verb::kRetry) return on_job(turn, *job, input);
  turn.refusal = cannot_retry(*job);
  if (turn.refusal) return;
  turn.emit(model::JobRestored{input.job, input.record});
  retry(turn, turn.state().jobs.at(input.job), input.actor);
}

}  // namespace

void on_request(Turn& turn, const model::JobRequest& input) {
  turn.answer = input.job;
  auto found = turn.state().jobs.find(input.job);
  if (found != turn.state().jobs.end()) return on_job(turn, found->second, input);
  const bool archived = !input.record.empty() && input.verb != model::JobRequest::Verb::kDelete;
  if (archived) return on_archived(turn, input);
  turn.refusal = no_such_job(input.job);
}

}  // namespace runnel::brain
