#include "sim/invariants.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "base/check.h"
#include "brain/places.h"
#include "sim/poison_check.h"

namespace runnel::sim {
namespace {

using model::Level;
using model::Status;

const model::StepSpec& spec_at(const std::map<JobId, std::shared_ptr<const model::JobSpec>>& specs,
                               const JobId& job, StepIndex step) {
  return specs.at(job)->steps.at(static_cast<std::size_t>(step.value()));
}

// The nodes of lanes that were given tasks, and what a place of these takes.
using Filled = std::map<NodeId, model::Resources>;
Filled filled_by(const std::vector<model::Event>& events, const brain::State& state) {
  Filled filled;
  for (const model::Event& event : events) {
    const auto* extended = std::get_if<model::LaneExtended>(&event);
    if (extended == nullptr) continue;
    const auto lane = state.lanes.find(extended->lane);
    if (lane == state.lanes.end()) continue;
    for (const model::Place& place : lane->second.places()) {
      filled[place.node].add(lane->second.per_place);
    }
  }
  return filled;
}

// A node that drains begins no work, and one that withholds its devices none with devices.
std::string check_held_back(const Filled& filled, const brain::State& state) {
  for (const auto& [id, begun] : filled) {
    const model::NodeInfo& node = state.nodes.at(id).info;
    if (node.draining) return "work begins on node " + id.str() + ", which is draining";
    if (node.withholds_devices && !begun.accelerators.empty()) {
      return "work with devices begins on node " + id.str() + ", which withholds them";
    }
  }
  return "";
}

// What is declared holds at once, of all nodes together.
std::string check_declared(const model::Input& input, const brain::State& state) {
  const auto* declared = std::get_if<model::NodesDeclared>(&input);
  if (declared == nullptr) return "";
  std::set<NodeId> ids;
  for (const model::NodeInfo& info : declared->nodes) {
    ids.insert(info.id);
    const auto node = state.nodes.find(info.id);
    const bool is_up = node != state.nodes.end() && node->second.up;
    if (is_up && node->second.info != info) return "node " + info.id.str() + " is as it was before";
  }
  for (const auto& [id, node] : state.nodes) {
    if (node.up && !ids.contains(id)) return "node " + id.str() + " stays, which is not declared";
  }
  return "";
}

// Work that is begun has room. Earlier work may be more than a node has that came back smaller.
std::string check_capacity(const Filled& filled, const brain::State& state) {
  if (filled.empty()) return "";
  std::map<NodeId, model::Resources> used;
  for (const auto& [id, lane] : state.lanes) {
    for (const model::Place& place : lane.places()) {
      used[place.node].add(brain::held_by(state, lane, place));
    }
  }
  for (const auto& [id, node] : state.nodes) {
    const auto begun = filled.find(id);
    if (begun == filled.end()) continue;
    // A device too many is no matter of what asks for none.
    std::erase_if(used[id].accelerators, [&](const auto& kind) {
      return !begun->second.accelerators.contains(kind.first);
    });
    if (!used[id].fits_in(node.info.capacity)) {
      return "node " + id.str() + " is over its capacity: " + used[id].describe();
    }
  }
  return "";
}

std::string check_lane(const brain::State& state, const brain::Lane& lane) {
  const model::StepSpec& spec = brain::spec_of(state, lane.job, lane.step);
  std::int32_t ranks = 0;
  std::set<NodeId> nodes;
  for (const model::Place& place : lane.places()) {
    ranks += place.ranks;
    const bool shared = place.ranks > spec.procs_per_node;
    if (shared && !state.nodes.at(place.node).info.colocate)
      return "a gang shares a node that forbids it";
    if (!nodes.insert(place.node).second) return "a lane names a node twice";
  }
  if (spec.is_external() ? ranks != 0 || lane.queue.size() != 1 : ranks != spec.rank_count())
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

// The exit code of the rank that failed first; 128 + n for signal n.
std::int32_t code_of(const model::AttemptEnded& ended) {
  for (const model::RankExit& exit : ended.exits) {
    if (exit.rank == ended.first_failed) return exit.signal != 0 ? 128 + exit.signal : exit.code;
  }
  return 0;
}

// Whether the policy names this kind of failure; one without conditions names all.
bool is_retried(const model::RetryPolicy& retry, const model::AttemptEnded& ended) {
  if (retry.on_exit_codes.empty() && retry.on_events.empty()) return true;
  const bool left_by_itself = ended.to == Status::kFailed;
  const std::string word = ended.to == Status::kTimeout       ? "timeout"
                           : ended.to == Status::kOutOfMemory ? "out_of_memory"
                                                              : "failed";
  const auto& words = retry.on_events;
  const auto& codes = retry.on_exit_codes;
  return std::find(words.begin(), words.end(), word) != words.end() ||
         (left_by_itself && std::find(codes.begin(), codes.end(), code_of(ended)) != codes.end());
}

// The status that an event gives tasks by a user's wish, and of which job; else nothing.
std::optional<std::pair<JobId, Status>> wished(const model::Event& event) {
  const auto* tasks = std::get_if<model::TasksChanged>(&event);
  if (tasks != nullptr) return std::pair(tasks->job, tasks->to);
  const auto* stopping = std::get_if<model::AttemptStopping>(&event);
  // A search parks its trials by itself: see trial_check.h.
  if (stopping != nullptr && stopping->actor == "search") return std::nullopt;
  if (stopping != nullptr) return std::pair(stopping->attempt.task.job, stopping->because);
  return std::nullopt;
}

// Nothing is paused or cancelled but by a user's wish.
std::string check_wish(const model::Input& input, const model::Event& event) {
  const auto wish = wished(event);
  if (!wish || (wish->second != Status::kPaused && wish->second != Status::kCancelled)) return "";
  const auto verb = wish->second == Status::kPaused ? model::JobRequest::Verb::kHalt
                                                    : model::JobRequest::Verb::kCancel;
  const auto* request = std::get_if<model::JobRequest>(&input);
  if (request != nullptr && request->verb == verb && request->job == wish->first) return "";
  return "job " + wish->first.str() + " has tasks become " + std::string(to_string(wish->second)) +
         " though nobody asked";
}

// Nothing is asked for by a search whose budget is spent.
std::string check_budgets(const std::vector<model::Event>& events, const brain::State& state) {
  for (const model::Event& event : events) {
    const auto* asked = std::get_if<model::TrialAsked>(&event);
    if (asked == nullptr) continue;
    const Money budget = brain::spec_of(state, asked->job, asked->step).search->budget;
    const brain::Step& step = brain::step_of(state, asked->job, asked->step);
    if (budget.is_zero() || brain::spent_by(step, state.now).paid < budget) continue;
    return "job " + asked->job.str() + " asks for a trial with its budget spent";
  }
  return "";
}

}  // namespace

std::string check_state(const brain::State& state) {
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

std::string Invariants::after(const model::Input& input, const std::vector<model::Event>& events,
                              const brain::State& state) {
  quarantine_.before(events);
  for (const model::Event& event : events) {
    if (std::string broken = check_wish(input, event); !broken.empty()) return broken;
    if (std::string broken = see(event); !broken.empty()) return broken;
  }
  if (std::string broken = check_budgets(events, state); !broken.empty()) return broken;
  const Filled filled = filled_by(events, state);
  if (std::string broken = check_capacity(filled, state); !broken.empty()) return broken;
  if (std::string broken = check_held_back(filled, state); !broken.empty()) return broken;
  if (std::string broken = check_declared(input, state); !broken.empty()) return broken;
  if (std::string broken = check_apart(events, state); !broken.empty()) return broken;
  if (std::string broken = quarantine_.check(state); !broken.empty()) return broken;
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
  return std::visit([this](const auto& what) { return on(what); }, event);
}

std::string Invariants::on(const model::JobSubmitted& event) {
  specs_[event.job] = event.spec;
  return "";
}

std::string Invariants::on(const model::StepChanged& event) {
  Status& status = steps_.try_emplace({event.job, event.step}, Status::kQueued).first->second;
  const bool reopened = event.reason == "Retried" && model::reopenable(Level::kStep, status);
  if (!reopened && !model::allowed(Level::kStep, status, event.to)) {
    return "step " + std::to_string(event.step.value()) + " of " + event.job.str() + " went from " +
           std::string(to_string(status)) + " to " + std::string(to_string(event.to));
  }
  status = event.to;
  return "";
}

std::string Invariants::on(const model::TasksChanged& event) {
  const bool reopened = event.reason == "Retried";
  for (const auto& [begin, end] : event.ranges) {
    for (std::int64_t index = begin; index < end; ++index) {
      const model::TaskRef task{event.job, event.step, TaskIndex(index)};
      auto known = tasks_.find(task);
      const Status now = known == tasks_.end() ? Status::kQueued : known->second;
      if (now == event.to || now == Status::kSucceeded) continue;
      if (reopened) {
        charged_.erase(task);
        trials_.reopen(task);
      }
      if (std::string broken = move_task(task, event.to, reopened); !broken.empty()) return broken;
    }
  }
  return "";
}

std::string Invariants::on(const model::LaneOpened& event) {
  std::vector<NodeId>& nodes = lanes_[event.lane];
  for (const model::Place& place : model::places_of(event.holding)) nodes.push_back(place.node);
  if (std::string broken = quarantine_.on(event); !broken.empty()) return broken;
  return check_start(event.lane, event.job, event.step);
}

std::string Invariants::on(const model::DevicesQuarantined& event) {
  quarantine_.on(event);
  return "";
}

std::string Invariants::on(const model::LaneExtended& event) {
  if (std::string broken = quarantine_.on(event); !broken.empty()) return broken;
  for (const model::LaneTask& task : event.tasks) {
    std::string broken = move_task({event.job, event.step, task.index}, Status::kStarting, false);
    if (!broken.empty()) return broken;
  }
  return check_start(event.lane, event.job, event.step);
}

std::string Invariants::on(const model::LaneClosed& event) {
  lanes_.erase(event.lane);
  quarantine_.on(event);
  return "";
}

std::string Invariants::on(const model::AttemptRunning& event) {
  return move_task(event.attempt.task, Status::kRunning, false);
}

std::string Invariants::on(const model::AttemptStopping& event) {
  stopping_[event.attempt] = event.because;
  return health_.on(event);
}

std::string Invariants::on(const model::TaskWarned& event) {
  const model::TaskRef& task = event.attempt.task;
  return health_.on(event, spec_at(specs_, task.job, task.step));
}

std::string Invariants::on(const model::AttemptEnded& event) {
  if (std::string broken = check_stop(event); !broken.empty()) return broken;
  if (std::string broken = check_retry(event); !broken.empty()) return broken;
  if (!stopping_.contains(event.attempt)) {
    if (std::string broken = quarantine_.on(event); !broken.empty()) return broken;
  }
  const model::TaskRef& task = event.attempt.task;
  std::string broken = trials_.on(event, spec_at(specs_, task.job, task.step));
  if (!broken.empty()) return broken;
  stopping_.erase(event.attempt);
  if (event.charged) ++charged_[event.attempt.task];
  return move_task(event.attempt.task, event.task, false);
}

std::string Invariants::on(const model::JobHalted& event) {
  trials_.interrupted(event.job);
  return "";
}

std::string Invariants::on(const model::SearchStopped& event) {
  trials_.interrupted(event.job);
  return "";
}

std::string Invariants::on(const model::TrialAsked& event) {
  return trials_.on(event, spec_at(specs_, event.job, event.step));
}

std::string Invariants::on(const model::TrialReported& event) {
  const model::TaskRef& task = event.attempt.task;
  return trials_.on(event, spec_at(specs_, task.job, task.step));
}

std::string Invariants::on(const model::TrialParked& event) {
  return trials_.on(event, spec_at(specs_, event.job, event.step));
}

std::string Invariants::on(const model::TrialMoved& event) {
  return trials_.on(event, spec_at(specs_, event.job, event.step));
}

std::string Invariants::on(const model::TrialTold& event) {
  return trials_.on(event, spec_at(specs_, event.job, event.step));
}

std::string Invariants::on(const model::NodeJoined& event) {
  up_.insert(event.node.id);
  return "";
}

std::string Invariants::on(const model::NodeLeft& event) {
  up_.erase(event.node);
  return "";
}

// It runs what it has, and gets nothing more.
std::string Invariants::on(const model::NodeLeaving& event) {
  up_.erase(event.node);
  return "";
}

// Nothing starts before what it needs has succeeded, nor on a node that is not there.
std::string Invariants::check_start(LaneId lane, const JobId& job, StepIndex step) const {
  for (StepIndex need : spec_at(specs_, job, step).depends_on) {
    const auto known = steps_.find({job, need});
    if (known != steps_.end() && known->second == Status::kSucceeded) continue;
    return "step " + std::to_string(step.value()) + " of " + job.str() + " starts before step " +
           std::to_string(need.value()) + " has succeeded";
  }
  for (const NodeId& node : lanes_.at(lane)) {
    if (!up_.contains(node))
      return "work is given to node " + node.str() + ", which is down or leaving";
  }
  return "";
}

// A task is paused or cancelled by its attempt's end only when that was asked for.
std::string Invariants::check_stop(const model::AttemptEnded& ended) const {
  if (ended.task != Status::kPaused && ended.task != Status::kCancelled) return "";
  const auto asked = stopping_.find(ended.attempt);
  if (asked != stopping_.end() && asked->second == ended.task) return "";
  return "attempt " + model::to_string(ended.attempt) + " left its task " +
         std::string(to_string(ended.task)) + " though nobody asked";
}

// What the job file promises about failures, told once more and in other words than the brain's.
std::string Invariants::check_retry(const model::AttemptEnded& ended) const {
  const model::TaskRef& task = ended.attempt.task;
  const model::StepSpec& spec = spec_at(specs_, task.job, task.step);
  const auto used = charged_.find(task);
  const bool budget_left = (used == charged_.end() ? 0 : used->second) < spec.retry.max;
  const bool again = ended.task == Status::kRecovering;
  const std::string name = "task " + model::to_string(task);
  if (ended.charged && !budget_left) return name + " is over its retry budget";
  if (ended.charged && ended.fault == model::Fault::kPlatform) {
    return name + " was charged for the platform's fault";
  }
  // A task that is found out takes no runner down any more, whatever its policy says.
  if (ended.reason == "RunnerLost") return again ? name + " is tried again and found out" : "";
  // The next attempt of a trial would leave out what this one left out.
  if (const auto action = health_.verdict_on(ended)) {
    return health_.check_end(ended, *action, budget_left);
  }
  if (spec.search && ended.reason.starts_with("Metric")) {
    return again ? name + " is tried again for its metric" : "";
  }
  if (ended.fault == model::Fault::kUser) {
    if (again != ended.charged) return name + " is tried again for free, or pays for nothing";
    if (again == (budget_left && is_retried(spec.retry, ended))) return "";
    return name + (again ? " is tried again against its policy" : " failed with budget left");
  }
  if (!again || ended.fault == model::Fault::kPlatform) return "";
  if (ended.reason == "Unfinished") return "";  // See trial_check.h.
  const bool saved = spec.checkpoint.has_value() && spec.checkpoint->exit_code == code_of(ended);
  return saved ? "" : name + " is tried again though nothing was wrong";
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

}  // namespace runnel::sim
