#include "sim/invariants.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <variant>

#include "base/check.h"
#include "brain/brain.h"
#include "brain/index.h"

namespace runnel::sim {
namespace {

using model::Level;
using model::Status;

const model::StepSpec& spec_at(const std::map<JobId, std::shared_ptr<const model::JobSpec>>& specs,
                               const JobId& job, StepIndex step) {
  return specs.at(job)->steps.at(static_cast<std::size_t>(step.value()));
}

std::string check_capacity(const brain::State& state) {
  std::map<NodeId, model::Resources> used;
  for (const auto& [id, lane] : state.lanes) {
    const std::int32_t procs = brain::spec_of(state, lane.job, lane.step).procs_per_node;
    for (const model::Place& place : lane.places) {
      used[place.node].add(lane.per_place.times(place.ranks / procs));
    }
  }
  for (const auto& [node, amount] : used) {
    if (!amount.fits_in(state.nodes.at(node).info.capacity)) {
      return "node " + node.str() + " is over its capacity: " + amount.describe();
    }
  }
  return "";
}

std::string check_lane(const brain::State& state, const brain::Lane& lane) {
  const model::StepSpec& spec = brain::spec_of(state, lane.job, lane.step);
  std::int32_t ranks = 0;
  std::set<NodeId> nodes;
  for (const model::Place& place : lane.places) {
    ranks += place.ranks;
    const bool shared = place.ranks > spec.procs_per_node;
    if (shared && !state.nodes.at(place.node).info.colocate)
      return "a gang shares a node that forbids it";
    if (!nodes.insert(place.node).second) return "a lane names a node twice";
  }
  if (ranks != spec.rank_count())
    return "a gang is not whole: lane " + std::to_string(lane.id.value());
  if (spec.rank_count() > 1 && lane.queue.size() > 1) return "a gang's lane holds two tasks";
  for (TaskIndex index : lane.queue) {
    const brain::Task* task = brain::find_task(state, {lane.job, lane.step, index});
    if (task == nullptr || !task->live.has_value() || task->live->lane != lane.id) {
      return "a lane holds a task that does not know it";
    }
  }
  return "";
}

std::string check_step(const model::StepSpec& spec, const brain::Step& step) {
  const std::int64_t sum = std::accumulate(step.counts.begin(), step.counts.end(), std::int64_t{0});
  if (sum != spec.task_count) return "a step counts " + std::to_string(sum) + " tasks";
  if (spec.parallel.has_value() && step.lanes > *spec.parallel)
    return "a step is over its parallel";
  const std::int64_t live = brain::count_of(step.counts, Status::kStarting) +
                            brain::count_of(step.counts, Status::kRunning);
  if (model::is_end(step.status) && live > 0) return "an ended step has live tasks";
  return "";
}

// What has been due for long enough that somebody must have looked at it.
struct Overdue {
  std::set<model::TaskRef> retries;
  std::set<LaneId> crowded;
};

void add_retries(const brain::Job& job, StepIndex index, Time due, Overdue& overdue) {
  const brain::Step& step = job.steps[static_cast<std::size_t>(index.value())];
  if (brain::count_of(step.counts, Status::kRecovering) == 0) return;
  for (const auto& [task, kept] : step.tasks) {
    if (kept.status != Status::kRecovering || kept.not_before > due) continue;
    overdue.retries.insert(model::TaskRef{job.id, index, task});
  }
}

Overdue overdue_at(const brain::State& state, Time due) {
  Overdue overdue;
  for (const auto& [id, job] : state.jobs) {
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      add_retries(job, StepIndex(static_cast<std::int32_t>(step)), due, overdue);
    }
  }
  for (const auto& [id, lane] : state.lanes) {
    const bool crowded = lane.queue.size() > 1 && lane.progress_at + brain::kAheadPatience <= due;
    if (crowded) overdue.crowded.insert(id);
  }
  return overdue;
}

// What of the overdue the event of a Wake acts upon; "" when nothing.
std::string acts_on(const model::Event& event, const Overdue& overdue) {
  if (const auto* stopping = std::get_if<model::AttemptStopping>(&event)) {
    if (!overdue.crowded.contains(stopping->lane)) return "";
    return "attempt " + model::to_string(stopping->attempt) + " should have been withdrawn";
  }
  const auto* bound = std::get_if<model::LaneExtended>(&event);
  if (bound == nullptr) return "";
  for (const model::LaneTask& task : bound->tasks) {
    const model::TaskRef ref{bound->job, bound->step, task.index};
    if (!overdue.retries.contains(ref)) continue;
    return "task " + model::to_string(ref) + " should have been tried";
  }
  return "";
}

}  // namespace

std::string check_nothing_overdue(const brain::State& state, Time now, Duration slack) {
  CHECK(slack > Duration(), "nobody can look at something in the moment it becomes due");
  const Overdue overdue = overdue_at(state, now - slack);
  if (overdue.retries.empty() && overdue.crowded.empty()) return "";
  brain::Brain probe(state);  // Rarely needed: a copy is not cheap.
  for (const model::Event& event : probe.decide(model::Wake{}, now).events) {
    if (std::string late = acts_on(event, overdue); !late.empty()) return late + " by now";
  }
  return "";
}

std::string check_state(const brain::State& state) {
  if (std::string broken = check_capacity(state); !broken.empty()) return broken;
  for (const auto& [id, lane] : state.lanes) {
    if (std::string broken = check_lane(state, lane); !broken.empty()) return broken;
  }
  for (const auto& [id, job] : state.jobs) {
    for (std::size_t step = 0; step < job.steps.size(); ++step) {
      std::string broken = check_step(job.spec->steps[step], job.steps[step]);
      if (!broken.empty()) return broken + " (job " + id.str() + ")";
    }
  }
  return "";
}

std::string Invariants::after(const std::vector<model::Event>& events, const brain::State& state) {
  for (const model::Event& event : events) {
    if (std::string broken = see(event); !broken.empty()) return broken;
  }
  return check_state(state);
}

void Invariants::restart(const std::vector<model::Event>& durable) {
  *this = Invariants();
  for (const model::Event& event : durable) {
    const std::string broken = see(event);
    CHECK(broken.empty(),
          "a log that was fine when it was written is not when it is read: " + broken);
  }
}

std::string Invariants::see(const model::Event& event) {
  if (const auto* what = std::get_if<model::JobSubmitted>(&event)) {
    specs_[what->job] = what->spec;
  } else if (const auto* change = std::get_if<model::TasksChanged>(&event)) {
    return move_range(*change);
  } else if (const auto* bound = std::get_if<model::LaneExtended>(&event)) {
    for (const model::LaneTask& task : bound->tasks) {
      std::string broken =
          move_task({bound->job, bound->step, task.index}, Status::kStarting, false);
      if (!broken.empty()) return broken;
    }
  } else if (const auto* runs = std::get_if<model::AttemptRunning>(&event)) {
    return move_task(runs->attempt.task, Status::kRunning, false);
  } else if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
    return end_attempt(*ended);
  }
  return "";
}

std::string Invariants::move_task(const model::TaskRef& task, Status to, bool reopened) {
  Status& status = tasks_.try_emplace(task, Status::kQueued).first->second;
  const bool fine = model::allowed(Level::kTask, status, to) ||
                    (reopened && model::reopenable(Level::kTask, status));
  if (!fine) {
    return "task " + model::to_string(task) + " went from " + std::string(to_string(status)) +
           " to " + std::string(to_string(to));
  }
  status = to;
  return "";
}

std::string Invariants::move_range(const model::TasksChanged& change) {
  const bool reopened = change.reason == "Retried";
  for (const auto& [begin, end] : change.ranges) {
    for (std::int64_t index = begin; index < end; ++index) {
      const model::TaskRef task{change.job, change.step, TaskIndex(index)};
      auto known = tasks_.find(task);
      const Status now = known == tasks_.end() ? Status::kQueued : known->second;
      if (now == change.to || now == Status::kSucceeded) continue;
      if (reopened) charged_.erase(task);
      if (std::string broken = move_task(task, change.to, reopened); !broken.empty()) return broken;
    }
  }
  return "";
}

std::string Invariants::end_attempt(const model::AttemptEnded& ended) {
  const model::TaskRef& task = ended.attempt.task;
  if (ended.charged) {
    const std::int32_t most = spec_at(specs_, task.job, task.step).retry.max;
    if (++charged_[task] > most)
      return "task " + model::to_string(task) + " is over its retry budget";
    if (ended.fault == model::Fault::kPlatform)
      return "a task was charged for the platform's fault";
  }
  return move_task(task, ended.task, false);
}

}  // namespace runnel::sim
