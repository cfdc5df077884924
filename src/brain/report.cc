#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/give_up.h"
#include "brain/health.h"
#include "brain/outcome.h"
#include "brain/places.h"
#include "brain/population.h"
#include "brain/quarantine.h"
#include "brain/suspects.h"
#include "brain/trials.h"
#include "brain/turn.h"
#include "hash/xxh3.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::RankReport;
using model::Status;

std::int32_t rank_count(const Lane& lane) {
  std::int32_t ranks = 0;
  for (const model::Place& place : lane.places()) ranks += place.ranks;
  return ranks;
}

// The live attempt a report speaks of, or null when the report is stale, doubled or made up.
const LiveAttempt* reported(const State& state, const NodeId& node, const RankReport& report) {
  const Task* task = find_task(state, report.attempt.task);
  if (task == nullptr || !task->live.has_value()) return nullptr;
  if (task->live->number != report.attempt.attempt) return nullptr;
  const Share share = share_of(state.lanes.at(task->live->lane), node);
  if (report.rank < share.first_rank || report.rank >= share.end()) return nullptr;
  if (task->live->ended_ranks.contains(report.rank)) return nullptr;
  return &*task->live;
}

bool failed(const RankReport& report) {
  return report.code != 0 || report.signal != 0 || report.cause != EndCause::kExited;
}

void rank_ended(Turn& turn, const RankReport& report, const LiveAttempt& live) {
  const LaneId lane = live.lane;
  const std::int32_t ranks = rank_count(turn.state().lanes.at(lane));
  if (static_cast<std::int32_t>(live.ended_ranks.size()) + 1 == ranks) {
    end_attempt(turn, report.attempt, report);
    return;
  }
  const bool stop_others = failed(report) && !live.stopping.has_value();
  turn.emit(model::RankEnded{report.attempt, report.rank, report.code, report.signal,
                             report.ended_at, report.cause});
  if (!stop_others) return;
  turn.emit(model::AttemptStopping{report.attempt, lane, Status::kFailed, "runnel"});
}

void take_report(Turn& turn, const NodeId& node, const RankReport& report) {
  const LiveAttempt* live = reported(turn.state(), node, report);
  if (live == nullptr) return;
  if (report.ended) {
    rank_ended(turn, report, *live);
  } else if (live->status == Status::kStarting && report.started_at != Time()) {
    turn.emit(model::AttemptRunning{report.attempt, live->lane, report.started_at});
  }
}

struct LiveRank {
  model::AttemptRef attempt;
  std::int32_t rank = 0;
  friend auto operator<=>(const LiveRank&, const LiveRank&) = default;
};

// Every rank that the state has on the node and whose end is not known, in lane order.
std::vector<LiveRank> live_ranks(const Turn& turn, const NodeId& node) {
  std::vector<LiveRank> found;
  auto lanes = turn.index().lanes_on.find(node);
  if (lanes == turn.index().lanes_on.end()) return found;
  for (LaneId id : lanes->second) {
    const Lane& lane = turn.state().lanes.at(id);
    const Share share = share_of(lane, node);
    for (TaskIndex index : lane.queue) {
      const model::TaskRef task{lane.job, lane.step, index};
      const LiveAttempt& live = *find_task(turn.state(), task)->live;
      for (std::int32_t rank = share.first_rank; rank < share.end(); ++rank) {
        if (!live.ended_ranks.contains(rank)) found.push_back({{task, live.number}, rank});
      }
    }
  }
  return found;
}

RankReport vanished(const LiveRank& rank, Time now) {
  RankReport report;
  report.attempt = rank.attempt;
  report.rank = rank.rank;
  report.ended = true;
  report.ended_at = now;
  report.cause = EndCause::kVanished;
  return report;
}

using RanByAttempt = std::map<model::AttemptRef, Ran>;

void add_lost(const State& state, const NodeId& node, const std::vector<RankReport>& ranks,
              RanByAttempt& ran) {
  for (const RankReport& report : ranks) {
    if (!report.ended || report.cause != EndCause::kRunnerLost) continue;
    const LiveAttempt* live = reported(state, node, report);
    if (live == nullptr || live->crashed) continue;  // Another of its nodes told of that crash.
    Ran& attempt = ran[report.attempt];
    attempt.attempt = report.attempt;
    attempt.continues = live->continues();
    const bool timed = report.started_at != Time() && report.ended_at > report.started_at;
    if (timed) attempt.age = std::max(attempt.age, report.ended_at - report.started_at);
  }
}

// What ran when the runner of the life before crashed, on whichever of its nodes. What it had not
// begun yet it does not tell.
std::vector<Ran> ran_at_crash(const State& state, const model::NodeJoin& input) {
  RanByAttempt ran;
  add_lost(state, input.node.id, input.ranks, ran);
  for (const model::LostRanks& lost : input.beside) add_lost(state, lost.node, lost.ranks, ran);
  std::vector<Ran> all;
  all.reserve(ran.size());
  for (const auto& [ref, attempt] : ran) all.push_back(attempt);
  return all;
}

void lose(Turn& turn, const NodeId& node, const std::vector<LiveRank>& ranks) {
  for (const LiveRank& rank : ranks) take_report(turn, node, vanished(rank, turn.now()));
}

std::vector<model::RankExit> bad_exits(const LiveAttempt& live, const RankReport& last) {
  std::vector<model::RankExit> exits;
  for (const auto& [rank, exit] : live.ended_ranks) {
    if (exit.code != 0 || exit.signal != 0) exits.push_back(exit);
  }
  if (last.code != 0 || last.signal != 0) exits.push_back({last.rank, last.code, last.signal});
  std::sort(exits.begin(), exits.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return exits;
}

// The first failing rank decides; the last one only when no other failed before.
Ending ending_of(const LiveAttempt& live, const RankReport& last) {
  Ending ending;
  ending.stopping = live.stopping;
  ending.verdict = live.verdict;
  ending.message = last.message;
  ending.all_succeeded = live.first_failed < 0 && !failed(last);
  if (live.first_failed >= 0) {
    const model::RankExit& exit = live.ended_ranks.at(live.first_failed);
    ending.cause = live.first_failed_cause;
    ending.code = exit.code;
    ending.signal = exit.signal;
  } else {
    ending.cause = last.cause;
    ending.code = last.code;
    ending.signal = last.signal;
  }
  const Time started = last.started_at != Time() ? last.started_at : live.started_at;
  ending.ran = started != Time();
  if (ending.ran && last.ended_at > started) ending.ran_for = last.ended_at - started;
  return ending;
}

// What its node says of volumes that the step has.
model::VolumeVersions published_of(const model::StepSpec& spec, const RankReport& last) {
  model::VolumeVersions published = last.published;
  std::erase_if(published, [&spec](const auto& each) {
    return std::ranges::find(spec.volumes, each.first, &model::VolumeUse::name) ==
           spec.volumes.end();
  });
  return published;
}

// Nobody knows whether a task that is forgotten does.
bool may_hold_devices(const State& state, const model::TaskRef& task) {
  const auto job = state.jobs.find(task.job);
  if (job == state.jobs.end()) return true;
  const auto step = static_cast<std::size_t>(task.step.value());
  return step >= job->second.spec->steps.size() ||
         !job->second.spec->steps[step].resources.accelerators.empty();
}

// Ranks that the node still has, or will start, and nobody wants there any more: it was lost, and
// is back in the same life.
std::vector<model::RankRef> strangers_in(const State& state, const model::NodeJoin& input) {
  std::vector<model::RankRef> strangers;
  if (input.node.capacity.accelerators.empty()) return strangers;
  for (const RankReport& report : input.ranks) {
    if (report.ended || reported(state, input.node.id, report) != nullptr) continue;
    if (!may_hold_devices(state, report.attempt.task)) continue;
    strangers.push_back({report.attempt, report.rank});
  }
  std::sort(strangers.begin(), strangers.end());
  strangers.erase(std::unique(strangers.begin(), strangers.end()), strangers.end());
  return strangers;
}

void strangers_end(Turn& turn, const Node& node, const std::vector<RankReport>& reports) {
  if (node.strangers.empty()) return;
  model::StrangersEnded ended{node.info.id, {}};
  for (const RankReport& report : reports) {
    const model::RankRef rank{report.attempt, report.rank};
    const auto& all = node.strangers;
    if (report.ended && std::binary_search(all.begin(), all.end(), rank)) {
      ended.ranks.push_back(rank);
    }
  }
  if (ended.ranks.empty()) return;
  std::sort(ended.ranks.begin(), ended.ranks.end());
  turn.emit(std::move(ended));
  turn.want_plan();
}

// Whether it came to its end while its runner lived, and nobody had to end it for others' sake.
bool ended_by_itself(EndCause cause) {
  return cause == EndCause::kExited || cause == EndCause::kTimeout ||
         cause == EndCause::kOutOfMemory;
}

// From its ids alone, so that a replay finds the same.
std::int32_t jitter_of(const model::AttemptRef& attempt) {
  return static_cast<std::int32_t>(hash::xxh3(model::to_string(attempt)) % (kJitterMax + 1));
}

}  // namespace

void end_attempt(Turn& turn, const model::AttemptRef& attempt, const RankReport& last) {
  const Task* task = find_task(turn.state(), attempt.task);
  CHECK(task != nullptr, "an attempt ends of a task that is not kept");
  CHECK(task->live.has_value(), "an attempt ends twice");
  const LiveAttempt& live = *task->live;
  const model::StepSpec& spec = spec_of(turn.state(), attempt.task.job, attempt.task.step);
  Ending ending = ending_of(live, last);
  if (ending.cause == EndCause::kPortBusy) turn.give_up_lane(live.lane);
  ending.jitter = jitter_of(attempt);
  if (ending.cause == EndCause::kRunnerLost) {
    ending.alone_max = alone_max(step_of(turn.state(), attempt.task.job, attempt.task.step));
  }
  if (live.stopping == Status::kNodeFail) {
    ending.message = loss_text(turn.state(), turn.state().lanes.at(live.lane));
  }
  Outcome outcome = outcome_of(spec, *task, ending, turn.now());
  if (ended_by_itself(ending.cause)) clear_ended(turn, attempt.task);
  judge_result(turn, attempt, outcome);
  model::AttemptEnded ended;
  ended.attempt = attempt;
  ended.lane = live.lane;
  ended.to = outcome.attempt;
  ended.started_at = live.started_at != Time() ? live.started_at : last.started_at;
  ended.ended_at = last.ended_at;
  ended.exits = bad_exits(live, last);
  ended.first_failed = live.first_failed >= 0 ? live.first_failed : (failed(last) ? last.rank : -1);
  if (outcome.rank >= 0) ended.first_failed = outcome.rank;
  // Done before it was asked to end: what that left it with says nothing.
  if (outcome.attempt == Status::kSucceeded) ended.exits.clear();
  if (outcome.attempt == Status::kSucceeded) ended.first_failed = -1;
  if (outcome.attempt == Status::kSucceeded) ended.published = published_of(spec, last);
  ended.fault = outcome.fault;
  ended.reason = std::move(outcome.reason);
  ended.message = std::move(outcome.message);
  ended.task = outcome.task;
  ended.not_before = outcome.not_before;
  ended.charged = outcome.charged;
  const LaneId lane = live.lane;
  turn.emit(std::move(ended));
  tell_trial(turn, attempt.task);
  move_member(turn, attempt.task);
  // Before its lane asks for another trial.
  give_up_search(turn, {attempt.task.job, attempt.task.step});
  promote_trials(turn, {attempt.task.job, attempt.task.step});
  turn.touch_lane(lane);
  turn.touch_step(attempt.task.job, attempt.task.step);
  // Its lane may go on with another task while there is room for this one elsewhere.
  const bool waits = outcome.task == Status::kRecovering || outcome.task == Status::kQueued;
  if (waits && outcome.not_before <= turn.now()) turn.want_plan();
}

void on_report(Turn& turn, const model::NodeReport& input) {
  auto node = turn.state().nodes.find(input.node);
  if (node == turn.state().nodes.end()) return;
  // Fencing: a node that was given up, or an older life of it, has nothing to say.
  if (!node->second.up || node->second.incarnation != input.incarnation) return;
  // First of all: who failed for want of its device is no failure of the task.
  if (input.devices) take_devices(turn, input.node, *input.devices);
  take_metrics(turn, input.node, input.metrics);
  for (const model::HealthReport& report : input.health) take_health(turn, input.node, report);
  for (const RankReport& report : input.ranks) take_report(turn, input.node, report);
  strangers_end(turn, node->second, input.ranks);
  obey_verdicts(turn);
}

void on_lost(Turn& turn, const model::NodeLost& input) {
  auto node = turn.state().nodes.find(input.node);
  if (node == turn.state().nodes.end()) return;
  if (node->second.incarnation != input.incarnation) return;
  // One that is down may be back, unless it is not among the nodes any more.
  const bool is_news = node->second.up || (input.reason == model::kLeftReason &&
                                           node->second.reason != model::kLeftReason);
  if (!is_news) return;
  turn.emit(model::NodeLeft{input.node, input.incarnation, input.reason});
  lose(turn, input.node, live_ranks(turn, input.node));
  turn.want_plan();
}

void on_join(Turn& turn, const model::NodeJoin& input) {
  auto known = turn.state().nodes.find(input.node.id);
  const bool is_new = known == turn.state().nodes.end();
  const bool new_life = is_new || known->second.incarnation != input.incarnation;
  const std::vector<model::RankRef> strangers = strangers_in(turn.state(), input);
  // A node that joins anew has no notice any more: whoever gave it, and would take the node away,
  // is gone.
  const Incarnation life_before = is_new ? Incarnation() : known->second.incarnation;
  const bool changed = new_life || !known->second.up || known->second.info != input.node ||
                       known->second.leaves_at != Time() || known->second.strangers != strangers;
  if (changed) turn.emit(model::NodeJoined{input.node, input.incarnation, strangers});
  take_metrics(turn, input.node.id, input.metrics);
  if (new_life) judge_crash(turn, input, life_before, ran_at_crash(turn.state(), input));
  if (new_life && input.crashed_idle) clear_unrelated(turn, input.node.id);
  if (input.devices) take_devices(turn, input.node.id, *input.devices);
  for (const model::HealthReport& report : input.health) take_health(turn, input.node.id, report);
  std::map<LiveRank, bool> told;
  for (const RankReport& report : input.ranks) {
    told[{report.attempt, report.rank}] = true;
    take_report(turn, input.node.id, report);
  }
  obey_verdicts(turn);
  if (new_life) {
    std::vector<LiveRank> ranks = live_ranks(turn, input.node.id);
    std::erase_if(ranks, [&](const LiveRank& rank) { return told.contains(rank); });
    lose(turn, input.node.id, ranks);
  }
  if (changed) turn.want_plan();
}

}  // namespace runnel::brain
