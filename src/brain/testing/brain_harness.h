#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "brain/brain.h"
#include "model/input.h"

namespace runnel::brain::testing {

// One step of a job for tests: `/bin/true` on one CPU unless told otherwise.
inline model::StepSpec step(std::string name, std::int64_t tasks = 1,
                            std::vector<int> depends_on = {}) {
  model::StepSpec spec;
  spec.name = std::move(name);
  spec.run = model::Command::words({"/bin/true"});
  spec.resources.milli_cpus = 1000;
  spec.task_count = tasks;
  if (tasks > 1) spec.samples = tasks;
  for (int need : depends_on) spec.depends_on.push_back(StepIndex(need));
  return spec;
}

// A brain with a clock and the hands to feed it: what a control and its agents would do, one line
// each.
//
// Every decision is also replayed into a second state, so each test proves on the way that a fold
// of the events is the state that decided.
class BrainHarness {
 public:
  BrainHarness() { replica_.now = now; }

  Decision decide(const model::Input& input) {
    Decision decision = brain.decide(input, now);
    for (const model::Event& event : decision.events) apply(replica_, event, now);
    last = decision.events;
    for (const model::Event& event : decision.events) history.push_back(event);
    return decision;
  }

  void join(const std::string& name, std::int64_t cpus, std::string life = "1") {
    model::NodeJoin input;
    input.node.id = NodeId(name);
    input.node.capacity.milli_cpus = cpus * 1000;
    input.node.capacity.memory = Bytes::gibi(8);
    input.node.colocate = colocate;
    if (devices > 0) input.node.capacity.accelerators["H100"] = devices;
    input.node.runner = runner;
    input.incarnation = Incarnation(life);
    decide(input);
  }
  void rejoin(const std::string& name, std::string life, std::vector<model::RankReport> ranks,
              std::vector<model::LostRanks> beside = {}) {
    model::NodeJoin input{brain.state().nodes.at(NodeId(name)).info, Incarnation(std::move(life)),
                          std::move(ranks)};
    input.beside = std::move(beside);
    decide(input);
  }
  // Its runner was killed while nothing ran there.
  void crash_idle(const std::string& name, std::string life) {
    model::NodeJoin input{brain.state().nodes.at(NodeId(name)).info, Incarnation(std::move(life))};
    input.crashed_idle = true;
    decide(input);
  }
  void lose(const std::string& name, std::string life = "1", std::string reason = "HeartbeatLost") {
    decide(model::NodeLost{NodeId(name), Incarnation(std::move(life)), std::move(reason)});
  }

  JobId submit(std::vector<model::StepSpec> steps, std::int32_t priority = 0) {
    return submit_as(JobId("job" + std::to_string(++jobs_)), std::move(steps), priority);
  }
  JobId submit_as(JobId id, std::vector<model::StepSpec> steps, std::int32_t priority = 0) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "job";
    spec->priority = priority;
    spec->workdir = "/";
    spec->steps = std::move(steps);
    model::Submit input;
    input.job = std::move(id);
    input.spec = spec;
    last_refusal = decide(input).refusal;
    return input.job;
  }

  Decision request(const JobId& job, model::JobRequest::Verb verb) {
    return decide(model::JobRequest{verb, job, "tester"});
  }
  void wake() { decide(model::Wake{}); }
  void pass(Duration duration) { now = now + duration; }

  static model::AttemptRef ref(const JobId& job, int step, std::int64_t task, int attempt = 1) {
    return {{job, StepIndex(step), TaskIndex(task)}, AttemptNumber(attempt)};
  }
  void report(const std::string& node, model::RankReport report, std::string life = "1") {
    decide(model::NodeReport{NodeId(node), Incarnation(std::move(life)), {std::move(report)}});
  }
  void running(const std::string& node, model::AttemptRef attempt, int rank = 0) {
    model::RankReport fact;
    fact.attempt = attempt;
    fact.rank = rank;
    fact.started_at = now;
    report(node, fact);
  }
  static model::RankReport end_of(model::AttemptRef attempt, int code, Time at, int rank = 0,
                                  model::EndCause cause = model::EndCause::kExited) {
    model::RankReport fact;
    fact.attempt = attempt;
    fact.rank = rank;
    fact.ended = true;
    fact.started_at = at;
    fact.ended_at = at;
    fact.code = code;
    fact.cause = cause;
    return fact;
  }
  void ended(const std::string& node, model::AttemptRef attempt, int code = 0, int rank = 0,
             model::EndCause cause = model::EndCause::kExited) {
    report(node, end_of(attempt, code, now, rank, cause));
  }

  model::Status job_status(const JobId& job) const { return brain.state().jobs.at(job).status; }
  model::Status step_status(const JobId& job, int step) const {
    return step_of(brain.state(), job, StepIndex(step)).status;
  }
  model::Status task_status(const JobId& job, int step, std::int64_t task) const {
    return status_of(step_of(brain.state(), job, StepIndex(step)), TaskIndex(task));
  }
  std::int64_t count(const JobId& job, int step, model::Status status) const {
    return count_of(step_of(brain.state(), job, StepIndex(step)).counts, status);
  }
  const State& replica() const { return replica_; }

  template <typename What>
  std::vector<What> all(const std::vector<model::Event>& events) const {
    std::vector<What> found;
    for (const model::Event& event : events) {
      if (const What* what = std::get_if<What>(&event)) found.push_back(*what);
    }
    return found;
  }

  Brain brain;
  Time now = Time::from_millis(1'000'000);
  bool colocate = false;
  std::int64_t devices = 0;  // On each of the nodes that join next.
  std::string runner;        // Theirs.
  std::vector<model::Event> last;
  std::vector<model::Event> history;
  std::optional<Error> last_refusal;

 private:
  State replica_;
  int jobs_ = 0;
};

}  // namespace runnel::brain::testing
