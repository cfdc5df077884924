#include "brain/testing/story.h"

#include "base/check.h"

namespace runnel::brain::testing {

using model::Status;

model::StepSpec plain_step(std::string name) {
  model::StepSpec spec;
  spec.name = std::move(name);
  spec.run = model::Command::shell("true");
  spec.resources = amount(1, Bytes());
  return spec;
}

model::JobSpec job_of(std::string name, std::vector<model::StepSpec> steps) {
  model::JobSpec spec;
  spec.name = std::move(name);
  spec.workdir = "/home/ada/project";
  spec.steps = std::move(steps);
  return spec;
}

model::Resources amount(std::int64_t cpus, Bytes memory,
                        std::map<std::string, std::int64_t> accelerators) {
  return {.milli_cpus = cpus * 1000, .memory = memory, .accelerators = std::move(accelerators)};
}

Story& Story::at(Time now) {
  now_ = now;
  return *this;
}

NodeId Story::node(std::string name, model::Resources capacity) {
  model::NodeInfo info;
  info.id = NodeId(std::move(name));
  info.capacity = std::move(capacity);
  return node(std::move(info));
}

NodeId Story::node(model::NodeInfo info) {
  tell(model::NodeJoined{info, Incarnation(info.id.str() + "-1")});
  return info.id;
}

void Story::lose(const NodeId& node, std::string reason) {
  tell(model::NodeLeft{node, state_.nodes.at(node).incarnation, std::move(reason)});
}

JobId Story::submit(model::JobSpec spec) {
  const JobId id("job" + std::to_string(++jobs_));
  tell(model::JobSubmitted{.job = id,
                           .project = ProjectId("default"),
                           .queue = QueueId("default"),
                           .owner = "ada",
                           .idempotency_key = "",
                           .body_hash = "",
                           .spec = std::make_shared<const model::JobSpec>(std::move(spec))});
  return id;
}

void Story::job_becomes(const JobId& job, Status to, std::string reason) {
  tell(model::JobChanged{job, to, std::move(reason), "", "ada"});
}

void Story::step_becomes(const JobId& job, int step, Status to, std::string reason) {
  tell(model::StepChanged{job, StepIndex(step), to, std::move(reason), ""});
}

void Story::tasks_become(const JobId& job, int step, std::pair<std::int64_t, std::int64_t> range,
                         Status to) {
  tell(model::TasksChanged{job, StepIndex(step), {range}, to, "", "ada"});
}

LaneId Story::open(const JobId& job, int step, std::vector<model::Place> places,
                   std::int32_t port) {
  const model::StepSpec& spec = spec_of(state_, job, StepIndex(step));
  model::Resources per_place = spec.resources;
  if (spec.whole_node) {
    per_place.milli_cpus = state_.nodes.at(places.front().node).info.capacity.milli_cpus;
  }
  const LaneId id(state_.last_lane.value() + 1);
  tell(model::LaneOpened{id, job, StepIndex(step), model::Places{std::move(places)},
                         std::move(per_place), port});
  return id;
}

model::AttemptRef Story::bind(LaneId lane, std::int64_t task,
                              std::vector<std::pair<std::string, std::string>> params) {
  const Lane& open = state_.lanes.at(lane);
  const model::TaskRef ref{open.job, open.step, TaskIndex(task)};
  const Task* kept = find_task(state_, ref);
  const AttemptNumber number((kept == nullptr ? 0 : kept->attempts.value()) + 1);
  tell(model::LaneExtended{lane, ref.job, ref.step, {{ref.index, number, std::move(params)}}});
  return {ref, number};
}

void Story::run(const model::AttemptRef& attempt) {
  tell(model::AttemptRunning{attempt, lane_of(attempt).id, now_});
}

void Story::stop(const model::AttemptRef& attempt, Status because) {
  tell(model::AttemptStopping{attempt, lane_of(attempt).id, because, "ada"});
}

void Story::end(const model::AttemptRef& attempt, Status to, Status task, Time not_before) {
  model::AttemptEnded event;
  event.attempt = attempt;
  event.lane = lane_of(attempt).id;
  event.to = to;
  event.ended_at = now_;
  event.task = task;
  event.not_before = not_before;
  tell(event);
}

void Story::close(LaneId lane) { tell(model::LaneClosed{lane, state_.lanes.at(lane).job}); }

model::AttemptRef Story::running(const JobId& job, int step, std::int64_t task,
                                 const NodeId& node) {
  const std::int32_t ranks = spec_of(state_, job, StepIndex(step)).rank_count();
  const model::AttemptRef attempt = bind(open(job, step, {{node, ranks}}), task);
  run(attempt);
  return attempt;
}

void Story::tell(const model::Event& event) { apply(state_, event, now_); }

const Lane& Story::lane_of(const model::AttemptRef& attempt) const {
  const Task* task = find_task(state_, attempt.task);
  CHECK(task != nullptr, "the story speaks of a task that was never bound");
  CHECK(task->live.has_value(), "the story speaks of an attempt that ended");
  return state_.lanes.at(task->live->lane);
}

}  // namespace runnel::brain::testing
