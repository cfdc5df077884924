#include "sim/poison_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "brain/suspects.h"
#include "sim/any_task.h"

namespace runnel::sim {
namespace {

using model::Status;

bool is_tried_apart(const brain::Task& task, std::int64_t crash) {
  const bool waits = task.status == Status::kQueued || task.status == Status::kRecovering;
  return task.suspicion && task.suspicion->crash == crash && (task.live || waits);
}

// Whether a suspect of the crash is still to be tried, or is being tried.
bool is_open(const brain::State& state, std::int64_t crash) {
  return any_task(state, [&](const brain::Task& task) { return is_tried_apart(task, crash); });
}

// Whether who runs in the lane is still a suspect of the crash that it was opened for. One that was
// lost in another crash, told of by a node that shares the runner, is not there any more.
bool holds_suspect(const brain::State& state, const brain::Lane& lane) {
  const brain::Step& step = state.jobs.at(lane.job).steps.at(lane.step.value());
  return std::any_of(lane.queue.begin(), lane.queue.end(), [&](TaskIndex index) {
    const auto task = step.tasks.find(index);
    return task != step.tasks.end() && task->second.suspicion &&
           task->second.suspicion->crash == lane.apart;
  });
}

// Whether the lane may be opened on the node, by what else is there.
bool fits_beside(const brain::Lane& opened, const NodeId& node, const brain::State& state) {
  for (const auto& [id, lane] : state.lanes) {
    const bool here = std::any_of(
        lane.places().begin(), lane.places().end(),
        [&](const model::Place& place) { return brain::share_runner(state, place.node, node); });
    if (!here || id == opened.id) continue;
    if (lane.apart == opened.apart) continue;
    const bool is_apart = is_open(state, lane.apart) && holds_suspect(state, lane);
    if (opened.apart != 0 || is_apart) return false;
  }
  return true;
}

std::int64_t doublings(std::int64_t count) {
  std::int64_t result = 0;
  for (; count > 1; count /= 2) ++result;
  return result;
}

// What the log says became of the tasks.
struct Ends {
  std::map<JobId, std::shared_ptr<const model::JobSpec>> specs;
  std::map<model::TaskRef, model::AttemptEnded> last;
  std::int64_t poisons = 0;   // Poison tasks that were submitted,
  std::int64_t requests = 0;  // and how often a user brought tasks back.

  explicit Ends(const std::vector<model::Event>& log) {
    for (const model::Event& event : log) take(event);
  }
  bool poison(const model::TaskRef& task) const {
    const auto& steps = specs.at(task.job)->steps;
    return task.index.value() < poison_tasks(steps.at(static_cast<std::size_t>(task.step.value())));
  }

 private:
  void take(const model::Event& event) {
    if (const auto* submitted = std::get_if<model::JobSubmitted>(&event)) {
      specs[submitted->job] = submitted->spec;
      for (const model::StepSpec& step : submitted->spec->steps) {
        poisons += poison_tasks(step);
      }
    } else if (const auto* changed = std::get_if<model::TasksChanged>(&event)) {
      if (changed->reason == "Retried" || changed->reason == "Resumed") ++requests;
    } else if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
      last.insert_or_assign(ended->attempt.task, *ended);
    }
  }
};

std::size_t at(Apart what) { return static_cast<std::size_t>(what); }

}  // namespace

std::int64_t poison_tasks(const std::vector<std::string>& command) {
  return !command.empty() && command.front() == kPoison ? std::ssize(command) : 0;
}

std::int64_t poison_tasks(const model::StepSpec& step) {
  return step.command() == nullptr ? 0 : poison_tasks(step.command()->argv);
}

bool has_poison(const model::StepSpec& step) { return poison_tasks(step) > 0; }

std::string check_apart(const std::vector<model::Event>& events, const brain::State& state) {
  for (const model::Event& event : events) {
    const auto* opened = std::get_if<model::LaneOpened>(&event);
    const auto lane = opened == nullptr ? state.lanes.end() : state.lanes.find(opened->lane);
    if (lane == state.lanes.end()) continue;
    for (const model::Place& place : lane->second.places()) {
      if (fits_beside(lane->second, place.node, state)) continue;
      return "lane " + std::to_string(opened->lane.value()) + " was opened on " + place.node.str() +
             " beside a task that is tried apart";
    }
  }
  return "";
}

std::string check_poison(const Scenario& scenario, const Truth& truth,
                         const std::vector<model::Event>& log) {
  const Ends ends(log);
  for (const auto& [task, ended] : ends.last) {
    const bool found_out = ended.task == Status::kFailed && ended.reason == "RunnerLost";
    const bool given_up = ended.task == Status::kFailed && ended.to == Status::kNodeFail;
    if (!ends.poison(task)) {
      if (found_out || given_up) return "task " + model::to_string(task) + " failed by losses";
    } else if (ended.task == Status::kSucceeded || (given_up && !found_out)) {
      // On its way to the node that lied of it: nobody could tell the lie from the truth.
      if (truth.lied_about.contains(ended.attempt)) continue;
      return "poison task " + model::to_string(task) + " was not found out";
    }
  }
  // Each fault and each request may hide one crash, or bring back one who was nearly found out.
  const std::int64_t causes =
      ends.poisons + ends.requests + static_cast<std::int64_t>(scenario.faults.size());
  for (const auto& [task, lost] : truth.poisoned) {
    if (!ends.specs.contains(task.job) || ends.poison(task)) continue;
    const std::int64_t bound = causes * (2 + doublings(truth.beside_poison));
    if (lost <= bound) continue;
    return "task " + model::to_string(task) + " was lost " + std::to_string(lost) +
           " times to poison, more than " + std::to_string(bound);
  }
  return "";
}

ApartCounts count_apart(const Truth& truth, const std::vector<model::Event>& log, bool poisoned) {
  ApartCounts counts{};
  counts[at(Apart::kPoisoned)] = poisoned ? 1 : 0;
  counts[at(Apart::kKilled)] = truth.killed_by_poison;
  for (const model::Event& event : log) {
    if (const auto* crashed = std::get_if<model::RunnerCrashed>(&event)) {
      ++counts[at(Apart::kCrashes)];
      counts[at(Apart::kSuspects)] += std::count_if(crashed->ran.begin(), crashed->ran.end(),
                                                    [](const auto& ran) { return ran.turn >= 0; });
    } else if (const auto* opened = std::get_if<model::LaneOpened>(&event)) {
      if (opened->apart != 0) ++counts[at(Apart::kLanes)];
    } else if (const auto* cleared = std::get_if<model::TaskCleared>(&event)) {
      const Apart why = cleared->reason == "Ended"       ? Apart::kEnded
                        : cleared->reason == "Outlived"  ? Apart::kOutlived
                        : cleared->reason == "Unrelated" ? Apart::kUnrelated
                                                         : Apart::kExplained;
      ++counts[at(why)];
    } else if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
      if (ended->reason == "RunnerLost") ++counts[at(Apart::kFoundOut)];
    }
  }
  return counts;
}

std::string apart_line(const ApartCounts& counts) {
  constexpr std::array<std::string_view, kApartCounts> kWords = {"schedules with poison",
                                                                 "runners killed by it",
                                                                 "crashes judged",
                                                                 "tasks suspected",
                                                                 "lanes apart",
                                                                 "cleared by their end",
                                                                 "cleared by outliving it",
                                                                 "cleared by another's guilt",
                                                                 "cleared by crashes without them",
                                                                 "poison tasks found out"};
  std::string text = "tried apart: ";
  for (std::size_t index = 0; index < counts.size(); ++index) {
    text +=
        (index == 0 ? "" : ", ") + std::to_string(counts[index]) + " " + std::string(kWords[index]);
  }
  return text + "\n";
}

}  // namespace runnel::sim
