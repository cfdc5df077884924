#include "brain/suspects.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"
#include "brain/outcome.h"
#include "brain/places.h"
#include "brain/wish.h"

namespace runnel::brain {
namespace {

using model::Status;
using model::TaskRef;

// One crash accuses nobody: a machine under load, or a user, may have ended the runner.
constexpr std::int32_t kCrashesFree = 1;
// What killed its runner at an age is likely to do so again by twice that age.
constexpr Duration kOutliveMargin = Duration::seconds(10);
// Nobody keeps a node for himself for longer, unless the crashes go on; then twice as long each
// time.
constexpr Duration kOutliveMax = Duration::minutes(10);
constexpr std::int32_t kOutliveDoublings = 10;

// For how long it must run to be cleared.
Duration outlive(Duration age) { return age * 2 + kOutliveMargin; }

// The same where others must stay away meanwhile.
Duration outlive_apart(Duration age, std::int32_t crashes) {
  const std::int32_t again = std::clamp(crashes - kCrashesFree - 1, 0, kOutliveDoublings);
  return std::min(outlive(age), kOutliveMax * (std::int64_t{1} << again));
}

// The youngest half goes first, then half of the rest: what has just begun is the likeliest, and
// what ran for hours does not keep the node for hours to prove itself.
void give_turns(std::vector<model::RanAtCrash>& suspects) {
  std::size_t given = 0;
  for (std::int32_t turn = 0; given < suspects.size(); ++turn) {
    const std::size_t end = given + std::max<std::size_t>(1, (suspects.size() - given) / 2);
    for (; given < end; ++given) suspects[given].turn = turn;
  }
}

bool runs(const Task& task) { return task.live && task.live->status == Status::kRunning; }

// When the suspect has proved itself; nothing while it does not run apart.
std::optional<Time> proven_at(const State& state, const Task& task) {
  if (!task.suspicion || !runs(task)) return std::nullopt;
  const Lane& lane = state.lanes.at(task.live->lane);
  if (lane.apart != task.suspicion->crash) return std::nullopt;
  return lane.progress_at + task.suspicion->outlive;
}

// The suspects of a crash whose turn it is.
std::vector<TaskRef> in_turn(const Index& index, std::int64_t crash) {
  std::vector<TaskRef> found;
  const auto suspects = index.suspects.find(crash);
  if (suspects == index.suspects.end()) return found;
  const std::int32_t first = suspects->second.begin()->first;
  for (const auto& [turn, task] : suspects->second) {
    if (turn != first) break;
    found.push_back(task);
  }
  return found;
}

bool waits_apart(const State& state, const TaskRef& task) {
  const Task& kept = *find_task(state, task);
  CHECK(kept.suspicion.has_value(), "a task is tried apart that nothing is held against");
  return !kept.live && may_run(state.jobs.at(task.job), task.step);
}

// Those that wait, the ones that may start now first.
std::vector<TaskRef> by_due(const State& state, std::vector<TaskRef> tasks, Time now) {
  std::erase_if(tasks, [&](const TaskRef& task) { return !waits_apart(state, task); });
  const auto later = [&](const TaskRef& task) { return find_task(state, task)->not_before > now; };
  std::vector<TaskRef> sorted;
  std::remove_copy_if(tasks.begin(), tasks.end(), std::back_inserter(sorted), later);
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(sorted), later);
  return sorted;
}

bool may_be_bound(const State& state, const TaskRef& task, Time now) {
  return waits_apart(state, task) && find_task(state, task)->not_before <= now;
}

void clear(Turn& turn, const TaskRef& task, std::string reason) {
  turn.emit(model::TaskCleared{task.job, task.step, task.index, std::move(reason)});
  turn.want_plan();
}

// A crash that comes later is no further one in a row.
void clear_outlived(Turn& turn, const std::vector<Ran>& ran) {
  for (const Ran& each : ran) {
    const Task& task = *find_task(turn.state(), each.attempt.task);
    if (task.crashes > 0 && each.age > task.outlive) clear(turn, each.attempt.task, "Outlived");
  }
}

void clear_explained(Turn& turn, const std::set<std::int64_t>& explained,
                     const std::set<TaskRef>& suspected) {
  for (const std::int64_t crash : explained) {
    const auto found = turn.index().suspects.find(crash);
    if (found == turn.index().suspects.end()) continue;
    std::vector<TaskRef> others;
    for (const auto& [place, task] : found->second) {
      if (!suspected.contains(task)) others.push_back(task);
    }
    for (const TaskRef& task : others) clear(turn, task, "Explained");
  }
}

}  // namespace

std::int32_t alone_max(const Step& step) {
  const bool found_out = std::any_of(step.tasks.begin(), step.tasks.end(), [](const auto& entry) {
    return entry.second.status == Status::kFailed && entry.second.reason == kRunnerLost;
  });
  return found_out ? kAloneMaxOfKind : kAloneMax;
}

bool share_runner(const State& state, const NodeId& one, const NodeId& other) {
  if (one == other) return true;
  const auto first = state.nodes.find(one);
  const auto second = state.nodes.find(other);
  if (first == state.nodes.end() || second == state.nodes.end()) return false;
  const std::string& runner = first->second.info.runner;
  return !runner.empty() && runner == second->second.info.runner;
}

void judge_crash(Turn& turn, const model::NodeJoin& join, const Incarnation& ended,
                 std::vector<Ran> ran) {
  std::sort(ran.begin(), ran.end(), [](const Ran& a, const Ran& b) {
    return std::tie(a.age, a.attempt) < std::tie(b.age, b.attempt);
  });
  const bool alone = ran.size() == 1;
  std::erase_if(ran, [](const Ran& each) { return !each.continues; });
  if (ran.empty()) return;
  clear_outlived(turn, ran);
  const bool in_a_row = std::any_of(ran.begin(), ran.end(), [&](const Ran& each) {
    return find_task(turn.state(), each.attempt.task)->crashes >= kCrashesFree;
  });
  model::RunnerCrashed crashed{join.node.id, ended, turn.state().last_event.value(), {}};
  std::set<TaskRef> suspected;
  std::set<std::int64_t> explained;
  for (const Ran& each : ran) {
    crashed.ran.push_back({each.attempt, alone, -1, outlive(each.age)});
    if (!in_a_row) continue;
    const Task& task = *find_task(turn.state(), each.attempt.task);
    if (task.suspicion) explained.insert(task.suspicion->crash);
    crashed.ran.back().outlive = outlive_apart(each.age, task.crashes + 1);
    suspected.insert(each.attempt.task);
  }
  if (in_a_row) give_turns(crashed.ran);
  turn.emit(std::move(crashed));
  clear_explained(turn, explained, suspected);
}

void clear_unrelated(Turn& turn, const NodeId& node) {
  std::vector<TaskRef> unrelated;
  for (const auto& [crash, suspects] : turn.index().suspects) {
    for (const auto& [place, task] : suspects) {
      const NodeId& crashed = find_task(turn.state(), task)->suspicion->node;
      if (share_runner(turn.state(), crashed, node)) unrelated.push_back(task);
    }
  }
  for (const TaskRef& task : unrelated) clear(turn, task, "Unrelated");
}

void clear_ended(Turn& turn, const TaskRef& task) {
  const Task& kept = *find_task(turn.state(), task);
  if (kept.crashes == 0) return;
  const std::optional<Suspicion> suspicion = kept.suspicion;
  clear(turn, task, "Ended");
  // It was not this task, and nothing else ran: it is none of those that ran at other times.
  if (suspicion && suspicion->alone) clear_unrelated(turn, suspicion->node);
}

void clear_proven(Turn& turn) {
  std::vector<TaskRef> proven;
  for (const auto& [crash, suspects] : turn.index().suspects) {
    for (const auto& [place, task] : suspects) {
      const std::optional<Time> at = proven_at(turn.state(), *find_task(turn.state(), task));
      if (at && *at <= turn.now()) proven.push_back(task);
    }
  }
  for (const TaskRef& task : proven) clear(turn, task, "Outlived");
}

std::vector<std::pair<StepKey, sched::Request>> apart_requests(const State& state,
                                                               const Index& index, Time now) {
  std::vector<std::pair<StepKey, sched::Request>> requests;
  std::map<StepKey, std::int64_t> wanted;  // By the crashes before.
  for (const auto& [crash, suspects] : index.suspects) {
    // Tasks that may start now stand before those that wait for their next attempt, those of a step
    // in one request.
    std::map<std::pair<bool, StepKey>, sched::Request> of_crash;
    for (const TaskRef& task : by_due(state, in_turn(index, crash), now)) {
      const StepKey key{task.job, task.step};
      const model::StepSpec& spec = spec_of(state, key.job, key.step);
      const std::int64_t lanes = step_of(state, key.job, key.step).lanes + wanted[key];
      if (spec.parallel && lanes >= *spec.parallel) continue;
      ++wanted[key];
      const Time starts = find_task(state, task)->not_before;
      const bool later = starts > now;
      const auto [at, fresh] = of_crash.try_emplace({later, key}, lane_of(spec));
      sched::Request& request = at->second;
      request.key = queue_key(state.jobs.at(key.job), key.step);
      request.limit = limit_of(spec);
      request.apart = crash;
      request.patience = kApartPatience;
      request.lanes_wanted = fresh ? 1 : request.lanes_wanted + 1;
      request.waiting_since = fresh ? starts : std::min(request.waiting_since, starts);
      if (later) request.not_before = request.waiting_since;
    }
    for (auto& [at, request] : of_crash) requests.emplace_back(at.second, std::move(request));
  }
  return requests;
}

std::optional<TaskIndex> next_suspect(const State& state, const Index& index, const StepKey& key,
                                      std::int64_t crash, Time now) {
  CHECK(crash != 0, "a lane for everybody is asked for a suspect");
  for (const TaskRef& task : in_turn(index, crash)) {
    const bool of_step = task.job == key.job && task.step == key.step;
    if (of_step && may_be_bound(state, task, now)) return task.index;
  }
  return std::nullopt;
}

std::optional<Time> suspects_wake(const State& state, const Index& index, Time planned_at) {
  std::optional<Time> earliest;
  const auto consider = [&](Time at) { earliest = earliest ? std::min(*earliest, at) : at; };
  for (const auto& [crash, suspects] : index.suspects) {
    for (const auto& [place, task] : suspects) {
      const Task& kept = *find_task(state, task);
      if (const std::optional<Time> at = proven_at(state, kept)) consider(*at);
      const Time patient_until = kept.not_before + kApartPatience;
      if (!kept.live && patient_until > planned_at) consider(patient_until);
    }
  }
  return earliest;
}

}  // namespace runnel::brain
