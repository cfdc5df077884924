#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "brain/state.h"
#include "model/event.h"
#include "model/spec.h"

namespace runnel::brain::testing {

// A step that runs `true` on one cpu, to be changed from there.
model::StepSpec plain_step(std::string name);
model::JobSpec job_of(std::string name, std::vector<model::StepSpec> steps);
model::Resources amount(std::int64_t cpus, Bytes memory = Bytes::gibi(1),
                        std::map<std::string, std::int64_t> accelerators = {});

// Tells what happened, event by event, and has the state that follows from it.
//
// Contract: every event goes through apply(), which CHECKs that it fits. Decides nothing: a story
//           may tell what the brain would not do. Steps and tasks are meant by position.
class Story {
 public:
  // Time stands still until somebody moves it.
  Story& at(Time now);
  Time now() const { return now_; }

  NodeId node(std::string name, model::Resources capacity);
  NodeId node(model::NodeInfo info);
  void lose(const NodeId& node, std::string reason);

  JobId submit(model::JobSpec spec);
  void job_becomes(const JobId& job, model::Status to, std::string reason = "");
  void step_becomes(const JobId& job, int step, model::Status to, std::string reason = "");
  void tasks_become(const JobId& job, int step, std::pair<std::int64_t, std::int64_t> range,
                    model::Status to);

  LaneId open(const JobId& job, int step, std::vector<model::Place> places, std::int32_t port = 0);
  // Binds a task to the lane as its next attempt.
  model::AttemptRef bind(LaneId lane, std::int64_t task,
                         std::vector<std::pair<std::string, std::string>> params = {});
  void run(const model::AttemptRef& attempt);
  void stop(const model::AttemptRef& attempt, model::Status because);
  void end(const model::AttemptRef& attempt, model::Status to, model::Status task,
           Time not_before = {});
  void close(LaneId lane);

  // One lane on one node with one running task: what most stories need.
  model::AttemptRef running(const JobId& job, int step, std::int64_t task, const NodeId& node);

  void tell(const model::Event& event);
  const State& state() const { return state_; }

 private:
  const Lane& lane_of(const model::AttemptRef& attempt) const;

  State state_;
  Time now_ = Time::from_millis(1'800'000'000'000);
  int jobs_ = 0;
};

}  // namespace runnel::brain::testing
