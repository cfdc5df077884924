#include <algorithm>

#include "base/check.h"
#include "brain/brain.h"
#include "brain/places.h"
#include "brain/task_environment.h"
#include "model/publishing_steps.h"
#include "model/variables.h"

namespace runnel::brain {
namespace {

using model::Status;
using model::StopReason;

// The attempt when it is live, else null.
const LiveAttempt* find_live(const State& state, const model::AttemptRef& attempt) {
  const Task* task = find_task(state, attempt.task);
  if (task == nullptr || !task->live.has_value()) return nullptr;
  return task->live->number == attempt.attempt ? &*task->live : nullptr;
}

const Lane& lane_held_by(const State& state, const LiveAttempt& live) {
  const auto lane = state.lanes.find(live.lane);
  CHECK(lane != state.lanes.end(), "a live attempt is on a lane that is not open");
  return lane->second;
}

// Whether every rank of the share is known to have ended: a node that comes back without them, in a
// new life, must not run them again while the rest of the gang still ends.
bool all_ranks_ended(const LiveAttempt& live, const Share& share) {
  for (std::int32_t rank = 0; rank < share.rank_count; ++rank) {
    if (!live.ended_ranks.contains(share.first_rank + rank)) return false;
  }
  return true;
}

std::vector<std::string> arguments_of(const TaskView& task) {
  const model::Command* command = task.step.command();
  CHECK(command != nullptr, "a node is to run what is run elsewhere");
  if (!command->script.empty()) return {"/bin/sh", "-ec", fill(task, command->script)};
  std::vector<std::string> argv;
  argv.reserve(command->argv.size());
  for (const std::string& argument : command->argv) argv.push_back(fill(task, argument));
  return argv;
}

// Whether what the first attempt leaves in its folder may be of use to a second.
bool may_try_again(const model::StepSpec& step) {
  return step.retry.max > 0 || step.checkpoint.has_value() || step.search.has_value();
}

// What another step of the job has published of the volume; empty: nothing.
std::string published_version(const Job& job, StepIndex writer, const model::VolumeUse& use) {
  const auto& steps = job.spec->steps;
  const auto publishing =
      std::ranges::find(steps, std::optional(writer), &model::StepSpec::publishes);
  CHECK(publishing != steps.end(), "a step writes volumes and none publishes them");
  const auto written = std::ranges::find_if(publishing->volumes, [&use](const auto& each) {
    return each.volume == use.volume && each.store == use.store;
  });
  const model::VolumeVersions& made =
      job.steps.at(static_cast<std::size_t>(publishing - steps.begin())).published;
  const auto found =
      std::ranges::find(made, written->name, &model::VolumeVersions::value_type::first);
  return found == made.end() ? "" : found->second;
}

// Those that the step reads of others of the job, at the versions that these have made.
std::vector<model::VolumeUse> volumes_of(const TaskView& task) {
  std::vector<model::VolumeUse> volumes = task.step.volumes;
  for (model::VolumeUse& use : volumes) {
    const auto writer = MUST(model::writer_before(*task.job.spec, task.attempt.task.step, use));
    if (!writer) continue;
    const std::string version = published_version(task.job, *writer, use);
    if (!version.empty()) use.version = version;
  }
  return volumes;
}

IntervalSet succeeded(const Step& step) {
  IntervalSet tasks;
  if (const auto plain = step.plain.find(Status::kSucceeded); plain != step.plain.end()) {
    tasks = plain->second;
  }
  for (const auto& [index, task] : step.tasks) {
    if (task.status == Status::kSucceeded) tasks.insert(index.value());
  }
  return tasks;
}

model::MergeOrder merge_of(const Job& job, StepIndex written) {
  const auto position = static_cast<std::size_t>(written.value());
  const model::StepSpec& spec = job.spec->steps.at(position);
  return {model::branches_of_step(job.id, spec), succeeded(job.steps.at(position)).ranges(),
          spec.rank_count()};
}

model::StartOrder order_of(const TaskView& task, const NodeId& node, const Share& share) {
  const model::StepSpec& step = task.step;
  CHECK(share.first_rank % step.procs_per_node == 0, "a place holds part of a node's processes");
  model::StartOrder order;
  order.attempt = task.attempt;
  order.lane = task.lane.id;
  order.first_rank = share.first_rank;
  order.rank_count = share.rank_count;
  order.world_size = step.rank_count();
  order.node_rank = share.first_rank / step.procs_per_node;
  order.num_nodes = step.num_nodes;
  order.port = task.lane.port;
  order.argv = arguments_of(task);
  order.env = task_environment(task);
  order.place_env = device_environment(task, node);
  order.secrets = step.secrets;
  order.volumes = volumes_of(task);
  if (step.writes_volumes()) {
    order.branch =
        model::branch_of_task(model::branches_of_step(task.job.id, step), task.attempt.task.index);
  }
  if (step.publishes) order.merge = merge_of(task.job, *step.publishes);
  order.workdir = task.job.spec->workdir;
  // A shared node runs all its places under one limit.
  const model::Resources granted =
      task.lane.per_place.times(share.rank_count / step.procs_per_node);
  order.memory_max = granted.memory;
  order.milli_cpus = granted.milli_cpus;
  order.max_duration = step.max_duration;
  order.grace = step.grace;
  order.max_log = step.max_log;
  order.checkpoint = step.checkpoint;
  if (order.checkpoint.has_value()) order.checkpoint->dir = fill(task, step.checkpoint->dir);
  order.keep_task_dir = may_try_again(step);
  order.metrics = step.metrics;
  order.is_followed = step.search.has_value() || step.health.any();
  if (!step.search) return order;
  for (const model::Objective& each : step.search->objectives) {
    order.objectives.push_back(each.metric);
  }
  return order;
}

// Where the task's checkpoint comes from when it is not its own. The folder's name is the donor's,
// should it depend on parameters.
std::optional<model::CheckpointSource> source_of(const TaskView& task) {
  const model::TaskRef& own = task.attempt.task;
  const std::optional<Study>& study = step_of(task.state, own.job, own.step).study;
  if (!study) return std::nullopt;
  const auto& moves = study->trials.at(static_cast<std::size_t>(own.index.value())).moves;
  if (moves.empty()) return std::nullopt;
  CHECK(task.step.checkpoint.has_value(), "a population that keeps no checkpoints");
  const std::int64_t number = moves.back().donor;
  const model::TaskRef donor{own.job, own.step, TaskIndex(number)};
  const TaskView view{task.state,
                      task.job,
                      task.step,
                      task.lane,
                      {donor, task.attempt.attempt},
                      study->trials.at(static_cast<std::size_t>(number)).params};
  return model::CheckpointSource{donor, fill(view, task.step.checkpoint->dir),
                                 static_cast<std::int64_t>(moves.size())};
}

StopReason reason_of(Status stopping) {
  switch (stopping) {
    case Status::kPaused: return StopReason::kHalted;
    case Status::kFailed: return StopReason::kRankFailed;
    case Status::kNodeFail:
    case Status::kPreempted: return StopReason::kPreempted;
    case Status::kQueued: return StopReason::kWithdrawn;
    default: return StopReason::kCancelled;
  }
}

void add_lane(const State& state, const Lane& lane, const Share& share,
              std::vector<DesiredAttempt>& out) {
  for (const TaskIndex index : lane.queue) {
    const model::TaskRef task{lane.job, lane.step, index};
    const Task* kept = find_task(state, task);
    CHECK(kept != nullptr, "a lane holds a task that its step does not remember");
    CHECK(kept->live.has_value(), "a lane holds a task that is not live");
    if (all_ranks_ended(*kept->live, share)) continue;
    out.push_back({model::AttemptRef{task, kept->live->number}, kept->live->stopping});
  }
}

// Until the first of the attempt's nodes is taken away; nothing when none will be.
std::optional<Duration> time_left(const State& state, const model::AttemptRef& attempt) {
  std::optional<Duration> left;
  for (const NodeId& id : nodes_of(state, attempt)) {
    const Node& node = state.nodes.at(id);
    if (node.leaves_at == Time()) continue;
    const Duration here = std::max(Duration(), node.leaves_at - state.now);
    left = left ? std::min(*left, here) : here;
  }
  return left;
}

}  // namespace

std::vector<DesiredAttempt> desired(const State& state, const NodeId& node) {
  std::vector<DesiredAttempt> out;
  for (const auto& [id, lane] : state.lanes) {
    const Share share = share_of(lane, node);
    if (share.rank_count > 0) add_lane(state, lane, share, out);
  }
  return out;
}

std::optional<model::StartOrder> start_order(const State& state, const model::AttemptRef& attempt,
                                             const NodeId& node) {
  const LiveAttempt* live = find_live(state, attempt);
  if (live == nullptr) return std::nullopt;
  const Lane& lane = lane_held_by(state, *live);
  const Share share = share_of(lane, node);
  if (share.rank_count == 0 || all_ranks_ended(*live, share)) return std::nullopt;
  const Job& job = state.jobs.at(attempt.task.job);
  const model::StepSpec& step = spec_of(state, attempt.task.job, attempt.task.step);
  const TaskView task{state, job, step, lane, attempt, live->params};
  model::StartOrder order = order_of(task, node, share);
  order.checkpoint_from = source_of(task);
  return order;
}

std::optional<model::WatchOrder> watch_order(const State& state, const model::AttemptRef& attempt,
                                             const NodeId& node) {
  const LiveAttempt* live = find_live(state, attempt);
  if (live == nullptr || !live->continues()) return std::nullopt;
  const model::StepSpec& step = spec_of(state, attempt.task.job, attempt.task.step);
  const Share share = share_of(lane_held_by(state, *live), node);
  if (!step.health.any() || share.rank_count == 0) return std::nullopt;
  return model::WatchOrder{attempt, share.first_rank, share.rank_count, step.rank_count(),
                           step.health};
}

std::optional<model::StopOrder> stop_order(const State& state, const model::AttemptRef& attempt,
                                           Status because) {
  if (!state.jobs.contains(attempt.task.job)) return std::nullopt;
  const Duration grace = spec_of(state, attempt.task.job, attempt.task.step).grace;
  const bool preempted = because == Status::kPreempted;
  return model::StopOrder{attempt, preempted ? time_left(state, attempt).value_or(grace) : grace,
                          reason_of(because)};
}

std::vector<NodeId> nodes_of(const State& state, const model::AttemptRef& attempt) {
  const LiveAttempt* live = find_live(state, attempt);
  if (live == nullptr) return {};
  return nodes_of(lane_held_by(state, *live).places());
}

}  // namespace runnel::brain
