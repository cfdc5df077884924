#include "brain/explain.h"

#include <algorithm>
#include <optional>

#include "brain/explain_room.h"
#include "brain/index.h"
#include "brain/wish.h"

namespace runnel::brain {
namespace {

using model::Status;

// One step that has not ended.
struct Question {
  const State& state;
  const Index& index;
  const Job& job;
  StepIndex position;
  Time now;

  const Step& step() const { return job.steps[static_cast<std::size_t>(position.value())]; }
  const model::StepSpec& spec() const {
    return job.spec->steps[static_cast<std::size_t>(position.value())];
  }
  StepKey key() const { return {job.id, position}; }
};

std::int64_t live_tasks(const Step& step) {
  return count_of(step.counts, Status::kStarting) + count_of(step.counts, Status::kRunning) +
         count_of(step.counts, Status::kCompleting);
}

// Asked to end for good, and within their grace.
std::int64_t ending_tasks(const Step& step) {
  return std::count_if(step.tasks.begin(), step.tasks.end(), [](const auto& entry) {
    return entry.second.live && !entry.second.live->continues();
  });
}

std::int64_t unfinished_tasks(const Step& step) {
  std::int64_t count = 0;
  for (int status = 0; status < model::kStatusCount; ++status) {
    if (model::is_end(static_cast<Status>(status))) continue;
    count += step.counts[static_cast<std::size_t>(status)];
  }
  return count;
}

// ---- it is not its turn, whatever the cluster has
// ------------------------------------------------------

bool explain_hold(const Question& ask, Wait& wait) {
  if (!ask.job.halted) return false;
  const std::int64_t paused = count_of(ask.step().counts, Status::kPaused);
  const std::int64_t waiting = count_of(ask.step().counts, Status::kQueued) +
                               count_of(ask.step().counts, Status::kRecovering);
  if (paused == 0 || waiting > 0) return false;
  wait.reason = "JobHeldUser";
  wait.message = "the job is halted with " + counted(paused, "task") + " of this step left";
  const std::int64_t ending = live_tasks(ask.step());
  if (ending > 0) wait.message += " and " + std::to_string(ending) + " still ending";
  wait.remedy = "runnel resume " + ask.job.id.str();
  return true;
}

// Tasks because of which the step cannot succeed any more. A search does in spite of failed trials.
std::int64_t lost_tasks(const Question& ask, StepIndex step) {
  const auto position = static_cast<std::size_t>(step.value());
  if (ask.job.spec->steps[position].search) return 0;
  const StatusCounts& counts = ask.job.steps[position].counts;
  return count_of(counts, Status::kFailed) + count_of(counts, Status::kTimeout);
}

bool explain_lost_dependency(const Question& ask, Wait& wait) {
  const auto& needs = ask.spec().depends_on;
  const auto lost = std::find_if(needs.begin(), needs.end(),
                                 [&](StepIndex need) { return lost_tasks(ask, need) > 0; });
  if (lost == needs.end()) return false;
  wait.reason = "DependencyNeverSatisfied";
  wait.message = "will be skipped when step '" +
                 ask.job.spec->steps[static_cast<std::size_t>(lost->value())].name +
                 "' has ended, of which " + counted(lost_tasks(ask, *lost), "task") + " failed";
  wait.remedy = "runnel cancel " + ask.job.id.str() + " ends the rest of it now";
  return true;
}

bool explain_dependency(const Question& ask, Wait& wait) {
  if (explain_lost_dependency(ask, wait)) return true;
  std::string steps;
  for (const StepIndex need : ask.spec().depends_on) {
    const auto position = static_cast<std::size_t>(need.value());
    const Step& step = ask.job.steps[position];
    if (step.status == Status::kSucceeded) continue;
    steps += (steps.empty() ? "" : " and ") + ("'" + ask.job.spec->steps[position].name + "' (") +
             std::to_string(unfinished_tasks(step)) + " of " +
             counted(ask.job.spec->steps[position].task_count, "task") + " left, " +
             std::to_string(live_tasks(step)) + " running)";
  }
  if (steps.empty()) return false;
  wait.reason = "Dependency";
  wait.message = "starts when step " + steps + " has succeeded";
  return true;
}

// ---- all that waits is being waited for on purpose
// -----------------------------------------------------

// Of the nodes that will be taken away the first on which the step has a lane; "" for none.
std::string leaving_text(const Question& ask) {
  const auto is_own = [&](LaneId lane) {
    const Lane& open = ask.state.lanes.at(lane);
    return StepKey{open.job, open.step} == ask.key();
  };
  for (const auto& [at, node] : ask.index.leaving) {
    const auto lanes = ask.index.lanes_on.find(node);
    const bool has_one =
        lanes != ask.index.lanes_on.end() && std::ranges::any_of(lanes->second, is_own);
    if (!has_one) continue;
    return "; '" + node.str() + "' is taken away in " + human(std::max(Duration(), at - ask.now)) +
           ", with what runs there";
  }
  return "";
}

bool explain_running(const Question& ask, Wait& wait) {
  const std::int64_t waiting = count_of(ask.step().counts, Status::kQueued) +
                               count_of(ask.step().counts, Status::kRecovering);
  if (waiting > 0) return false;
  wait.reason = "Running";
  wait.message = "nothing waits: " + counted(live_tasks(ask.step()), "task") + " started";
  const std::int64_t ending = ending_tasks(ask.step());
  if (ending > 0) {
    wait.message += ", " + std::to_string(ending) + " asked to end, within a grace of " +
                    human(ask.spec().grace);
  }
  wait.message += leaving_text(ask);
  if (const std::int64_t paused = count_of(ask.step().counts, Status::kPaused); paused > 0) {
    wait.message +=
        "; " + counted(paused, "trial") + " paused by the pruner, of which the best go on";
  }
  return true;
}

// The waiting task with the earliest next attempt, when none may start yet.
bool explain_backoff(const Question& ask, Wait& wait) {
  if (waiting_tasks(ask.state, ask.index, ask.key(), ask.now) > 0) return false;
  const auto again = ask.index.again.find(ask.key());
  if (again == ask.index.again.end() || again->second.empty()) return false;
  const auto& [at, task] = *again->second.begin();
  const Task* kept = find_task(ask.state, {ask.job.id, ask.position, task});
  std::string why = kept == nullptr || kept->reason.empty() ? "" : " (" + kept->reason + ")";
  if (kept != nullptr && !kept->obstacle.empty()) why += ": " + kept->obstacle;
  wait.reason = "BeginTime";
  wait.message = "task " + std::to_string(task.value()) + " tries again at " + rfc3339(at) +
                 ", in " + human(at - ask.now) + ", after attempt " +
                 std::to_string(kept == nullptr ? 0 : kept->attempts.value()) + why;
  wait.remedy = kept != nullptr && kept->losses > 0
                    ? "runnel show " + ask.job.id.str() + " --step " + ask.spec().name +
                          " --task " + std::to_string(task.value()) + " tells what went wrong"
                    : "a shorter retry.backoff would start it sooner";
  return true;
}

std::string suspect_wait(const Question& ask, const Task& kept, std::int64_t before) {
  if (before > 0)
    return "it waits until " + counted(before, "other") + " before it ended or were cleared";
  if (kept.not_before <= ask.now) return "it waits for a node where nothing else runs";
  return "it tries again at " + rfc3339(kept.not_before) + ", in " +
         human(kept.not_before - ask.now);
}

// All that waits has been there when runners crashed.
bool explain_apart(const Question& ask, Wait& wait) {
  if (!ask.index.apart.contains(ask.key())) return false;
  if (waiting_tasks(ask.state, ask.index, ask.key(), ask.now) > 0) return false;
  for (const auto& [crash, suspects] : ask.index.suspects) {
    std::int64_t before = 0;
    std::int32_t last = suspects.begin()->first;
    std::int64_t seen = 0;
    for (const auto& [turn, task] : suspects) {
      if (turn != last) before = seen;
      last = turn;
      ++seen;
      if (task.job != ask.job.id || task.step != ask.position) continue;
      const Task& kept = *find_task(ask.state, task);
      if (kept.live) continue;
      wait.reason = "TriedApart";
      wait.message = "task " + std::to_string(task.index.value()) +
                     " ran when its node's runner was killed, " + counted(kept.crashes, "time") +
                     " in a row, and is tried apart from others; " +
                     suspect_wait(ask, kept, before);
      wait.remedy = "runnel show " + ask.job.id.str() + " --step " + ask.spec().name + " --task " +
                    std::to_string(task.index.value()) + " shows its attempts";
      return true;
    }
  }
  return false;
}

bool explain_parallel(const Question& ask, Wait& wait) {
  const std::optional<std::int64_t>& parallel = ask.spec().parallel;
  if (!parallel || ask.step().lanes < *parallel) return false;
  const std::int64_t waiting = waiting_tasks(ask.state, ask.index, ask.key(), ask.now);
  wait.reason = "JobArrayTaskLimit";
  wait.message = counted(waiting, "task") + (waiting == 1 ? " waits" : " wait") + ": parallel is " +
                 std::to_string(*parallel) + ", and " +
                 (*parallel == 1 ? "that one runs" : "that many run");
  wait.remedy = "to run more at once, write parallel: " + std::to_string(*parallel + 1);
  return true;
}

// Its trials are run by somebody else.
bool explain_outside(const Question& ask, Wait& wait) {
  if (!ask.spec().is_external()) return false;
  const std::int64_t waiting = waiting_tasks(ask.state, ask.index, ask.key(), ask.now);
  wait.reason = "NotAsked";
  wait.message = counted(waiting, "trial") + (waiting == 1 ? " waits" : " wait") +
                 " to be asked for: nothing runs them here";
  wait.remedy = "runnel study ask " + ask.job.id.str();
  return true;
}

std::int64_t position_of(const Question& ask, const sched::QueueKey& own) {
  std::int64_t position = 1;
  for (const auto& [at, key] : ask.index.ready) {
    if (!(at < own)) break;
    if (request_of(ask.state, ask.index, key, ask.now).lanes_wanted > 0) ++position;
  }
  return position;
}

Wait explain_step(const Question& ask) {
  Wait wait{.step = ask.position, .reason = {}, .message = {}, .remedy = {}, .blockers = {}};
  if (explain_hold(ask, wait) || explain_dependency(ask, wait) || explain_running(ask, wait) ||
      explain_apart(ask, wait) || explain_backoff(ask, wait) || explain_parallel(ask, wait) ||
      explain_outside(ask, wait)) {
    return wait;
  }
  const sched::Request request = request_of(ask.state, ask.index, ask.key(), ask.now);
  wait.position = position_of(ask, request.key);
  explain_room(Wish{ask.state, ask.index, ask.key(), request, ask.now}, wait);
  return wait;
}

}  // namespace

Result<std::vector<Wait>> explain(const State& state, const Index& index, const JobId& id,
                                  Time now) {
  const auto job = state.jobs.find(id);
  if (job == state.jobs.end()) {
    return Error(Errc::kNotFound, "there is no job " + id.str())
        .with_value(id.str())
        .with_hint("runnel ps lists the jobs");
  }
  std::vector<Wait> waits;
  if (model::is_end(job->second.status)) return waits;
  for (std::size_t position = 0; position < job->second.steps.size(); ++position) {
    if (model::is_end(job->second.steps[position].status)) continue;
    const StepIndex step(static_cast<std::int32_t>(position));
    waits.push_back(explain_step({state, index, job->second, step, std::max(now, state.now)}));
  }
  return waits;
}

}  // namespace runnel::brain
