#include "brain/state_check.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

namespace runnel::brain {
namespace {

using model::Status;

Error damaged(std::string what) {
  return Error(Errc::kCorrupt, std::move(what))
      .with_hint("read an older snapshot and fold the log from there");
}

std::string name_of(const JobId& job, std::size_t step) {
  return "step " + std::to_string(step) + " of job " + job.str();
}

bool is_live(Status status) {
  return status == Status::kStarting || status == Status::kRunning || status == Status::kCompleting;
}

// Every index once: the ranges of all statuses and the kept tasks, put together.
Result<void> check_indexes(const Step& step, std::int64_t task_count, const std::string& name) {
  IntervalSet all;
  std::int64_t members = 0;
  for (const auto& [status, set] : step.plain) {
    members += set.size();
    for (const auto& [begin, end] : set.ranges()) all.insert(begin, end);
  }
  for (const auto& [index, task] : step.tasks) {
    ++members;
    all.insert(index.value());
  }
  if (members == task_count && all == IntervalSet::of(0, task_count)) return {};
  return damaged(name + " does not hold each of its " + std::to_string(task_count) + " tasks once");
}

class Checker {
 public:
  explicit Checker(const State& state) : state_(state) {}

  Result<void> run() const {
    for (const auto& [id, job] : state_.jobs) TRY(check_job(job));
    for (const auto& [id, lane] : state_.lanes) TRY(check_lane(lane));
    for (const auto& [id, job] : state_.jobs) {
      for (std::size_t index = 0; index < job.steps.size(); ++index) TRY(check_step(job, index));
    }
    TRY(check_devices());
    return check_finished();
  }

 private:
  // Each at most once.
  Result<void> check_devices() const {
    std::map<NodeId, model::Devices> held;
    for (const auto& [id, lane] : state_.lanes) {
      for (const model::Place& place : lane.places()) {
        model::Devices& taken = held[place.node];
        if (model::overlap(taken, place.devices)) {
          return damaged("lane " + std::to_string(id.value()) + " has a device of another lane");
        }
        model::insert(taken, place.devices);
      }
    }
    for (const auto& [id, node] : state_.nodes) {
      const auto& all = node.strangers;
      if (!std::is_sorted(all.begin(), all.end())) {
        return damaged("the strangers on node " + id.str() + " do not ascend");
      }
      const auto ascends = [](const auto& a, const auto& b) {
        return std::tie(a.kind, a.index) >= std::tie(b.kind, b.index);
      };
      const auto& out = node.quarantined;
      if (std::adjacent_find(out.begin(), out.end(), ascends) == out.end()) continue;
      return damaged("the quarantined devices of node " + id.str() + " do not ascend");
    }
    return {};
  }

  Result<void> check_job(const Job& job) const {
    if (job.spec == nullptr) return damaged("job " + job.id.str() + " has no specification");
    if (job.steps.size() != job.spec->steps.size()) {
      return damaged("job " + job.id.str() + " has other steps than its specification");
    }
    if (job.order > state_.last_order) {
      return damaged("job " + job.id.str() + " comes after the last one submitted");
    }
    return {};
  }

  Result<void> check_step(const Job& job, std::size_t index) const {
    const std::string name = name_of(job.id, index);
    const Step& step = job.steps[index];
    TRY(check_indexes(step, job.spec->steps[index].task_count, name));
    if (step.study) TRY(check_study(*step.study, name));
    for (const auto& [status, set] : step.plain) {
      if (is_live(status) && !set.empty()) return damaged(name + " runs tasks without an attempt");
    }
    for (const auto& [task, kept] : step.tasks) {
      if (is_live(kept.status) != kept.live.has_value()) {
        return damaged("task " + std::to_string(task.value()) + " of " + name +
                       " has a status that its attempt does not explain");
      }
      if (kept.live)
        TRY(check_live(job.id, StepIndex(static_cast<std::int32_t>(index)), task, kept));
    }
    return {};
  }

  static Result<void> check_study(const Study& study, const std::string& name) {
    for (const Trial& trial : study.trials) {
      for (const TrialMove& move : trial.moves) {
        if (move.reports <= static_cast<std::int64_t>(trial.reports.size())) continue;
        return damaged("a trial of " + name + " moved after more reports than it has");
      }
    }
    return {};
  }

  Result<void> check_live(const JobId& job, StepIndex step, TaskIndex task,
                          const Task& kept) const {
    const std::string name =
        "the live attempt of task " + std::to_string(task.value()) + " of job " + job.str();
    if (kept.live->number != kept.attempts) return damaged(name + " is not its last one");
    const auto lane = state_.lanes.find(kept.live->lane);
    if (lane == state_.lanes.end()) return damaged(name + " is on a lane that is not open");
    const Lane& open = lane->second;
    const bool of_lane = open.job == job && open.step == step;
    if (of_lane && std::count(open.queue.begin(), open.queue.end(), task) == 1) return {};
    return damaged(name + " is on a lane that does not hold it");
  }

  Result<void> check_lane(const Lane& lane) const {
    const std::string name = "lane " + std::to_string(lane.id.value());
    const auto job = state_.jobs.find(lane.job);
    const auto step = static_cast<std::size_t>(lane.step.value());
    if (job == state_.jobs.end() || step >= job->second.steps.size()) {
      return damaged(name + " is of a step that is not there");
    }
    if (lane.id > state_.last_lane) return damaged(name + " comes after the last one opened");
    TRY(check_places(lane, job->second.spec->steps[step], name));
    for (const TaskIndex task : lane.queue) {
      const Task* kept = find_task(state_, model::TaskRef{lane.job, lane.step, task});
      if (kept == nullptr || !kept->live || kept->live->lane != lane.id) {
        return damaged(name + " holds a task that is not live on it");
      }
    }
    return {};
  }

  Result<void> check_places(const Lane& lane, const model::StepSpec& spec,
                            const std::string& name) const {
    if (spec.is_external()) {
      return lane.lease() != nullptr ? Result<void>()
                                     : damaged(name + " has a place for what is not run");
    }
    std::int64_t ranks = 0;
    for (const model::Place& place : lane.places()) {
      if (!state_.nodes.contains(place.node)) return damaged(name + " is on a node nobody knows");
      if (place.ranks < 1 || place.ranks % spec.procs_per_node != 0) {
        return damaged(name + " has a place with part of a node's processes");
      }
      ranks += place.ranks;
    }
    if (ranks == spec.rank_count()) return {};
    return damaged(name + " has other ranks than its step asks for");
  }

  Result<void> check_finished() const {
    for (const JobId& id : state_.finished) {
      const auto job = state_.jobs.find(id);
      if (job == state_.jobs.end() || !model::is_end(job->second.status)) {
        return damaged("job " + id.str() + " counts as finished and is not");
      }
    }
    const auto ended = std::count_if(state_.jobs.begin(), state_.jobs.end(), [](const auto& entry) {
      return model::is_end(entry.second.status);
    });
    if (static_cast<std::size_t>(ended) == state_.finished.size()) return {};
    return damaged("the list of finished jobs does not name each of them once");
  }

  const State& state_;
};

}  // namespace

Result<void> check_state(const State& state) { return Checker(state).run(); }

}  // namespace runnel::brain
