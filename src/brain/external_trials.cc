#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/bind.h"
#include "brain/searcher.h"
#include "brain/trials.h"
#include "brain/turn.h"
#include "brain/wish.h"

// Trials that somebody outside runs: docs/design/search.md, "Ask and tell".
namespace runnel::brain {
namespace {

using model::AttemptRef;
using model::Status;
using model::TrialCall;
using model::TrialEnd;

StepKey key_of(const TrialCall& input) { return {input.job, input.step}; }

AttemptRef attempt_of(const TrialCall& input) {
  return {{input.job, input.step, input.trial}, input.attempt};
}

std::string name_of(const TrialCall& input) {
  return "trial " + std::to_string(input.trial.value());
}

const Trial& trial_of(const Turn& turn, const TrialCall& input) {
  const Step& step = step_of(turn.state(), input.job, input.step);
  return step.study->trials.at(static_cast<std::size_t>(input.trial.value()));
}

Error conflict(std::string what, std::string hint) {
  return Error(Errc::kConflict, std::move(what)).with_hint(std::move(hint));
}

// The attempt of the one trial that a lane of somebody outside holds.
AttemptRef attempt_on(const Turn& turn, const Lane& lane) {
  const model::TaskRef task{lane.job, lane.step, lane.queue.front()};
  return {task, find_task(turn.state(), task)->live->number};
}

// --- Asking.

std::optional<Error> why_nobody_asks(const Job& job, const TrialCall& input) {
  const std::string& name = job.spec->steps[static_cast<std::size_t>(input.step.value())].name;
  if (job.halted) {
    return conflict("job " + job.id.str() + " is halted and gives no trials",
                    "runnel resume " + job.id.str());
  }
  const Status status = job.steps[static_cast<std::size_t>(input.step.value())].status;
  if (model::is_end(job.status) || model::is_end(status) || may_run(job, input.step)) return {};
  return conflict("step '" + name + "' waits for the steps before it",
                  "runnel explain " + job.id.str());
}

// By attempts: a lane whose attempt has just ended is still there until the turn is settled.
bool all_held(const Turn& turn, const StepKey& key) {
  const auto& parallel = spec_of(turn.state(), key.job, key.step).parallel;
  const StatusCounts& counts = step_of(turn.state(), key.job, key.step).counts;
  return parallel &&
         count_of(counts, Status::kStarting) + count_of(counts, Status::kRunning) >= *parallel;
}

// What the asker was given when it asked with the same word, if it still has it.
std::optional<AttemptRef> held_by_asker(const Turn& turn, const TrialCall& input) {
  if (input.holder.empty()) return std::nullopt;
  for (const auto& [until, id] : turn.index().leases) {
    const Lane& lane = turn.state().lanes.at(id);
    const bool of_study = lane.job == input.job && lane.step == input.step;
    if (of_study && lane.lease()->holder == input.holder) return attempt_on(turn, lane);
  }
  return std::nullopt;
}

void ask(Turn& turn, const Job& job, const TrialCall& input) {
  turn.called = held_by_asker(turn, input);
  if (turn.called) {
    turn.repeated = true;
    return;
  }
  end_silent(turn);  // The trials that they had are asked for now.
  turn.refusal = why_nobody_asks(job, input);
  const StepKey key = key_of(input);
  if (turn.refusal || !may_run(job, key.step) || all_held(turn, key)) return;
  if (waiting_tasks(turn.state(), turn.index(), key, turn.now()) == 0) return;
  model::LaneOpened opened;
  opened.lane = LaneId(turn.state().last_lane.value() + 1);
  opened.job = key.job;
  opened.step = key.step;
  opened.holding = model::Lease{input.lease, input.holder};
  const LaneId lane = opened.lane;
  turn.emit(std::move(opened));
  bind(turn, lane, key, 1);
  turn.called = attempt_on(turn, turn.state().lanes.at(lane));
  turn.emit(model::AttemptRunning{*turn.called, lane, turn.now()});
}

// --- Speaking of a trial that was given.

std::optional<Error> check_values(const Turn& turn, const TrialCall& input) {
  const auto& objectives = spec_of(turn.state(), input.job, input.step).search->objectives;
  if (input.values.size() == objectives.size()) return {};
  // A report may only say that its asker is there; an end without a value rests on the last report.
  const bool needs_none = input.verb == TrialCall::Verb::kReport ||
                          input.end != TrialEnd::kComplete ||
                          !trial_of(turn, input).reports.empty();
  if (input.values.empty() && needs_none) return {};
  std::string names;
  for (const model::Objective& each : objectives)
    names += (names.empty() ? "" : ", ") + each.metric;
  return Error(Errc::kInvalid, "has " + std::to_string(input.values.size()) + " value(s), and " +
                                   std::to_string(objectives.size()) + " are looked at: " + names)
      .with_field("values")
      .with_value(std::to_string(input.values.size()))
      .with_hint("give one value for each, in this order");
}

AttemptNumber attempts_given(const Turn& turn, const TrialCall& input) {
  return attempts_of(step_of(turn.state(), input.job, input.step), input.trial);
}

std::optional<Error> check_given(const Turn& turn, const TrialCall& input) {
  const Study& study = *step_of(turn.state(), input.job, input.step).study;
  const bool asked = input.trial.value() >= 0 &&
                     input.trial.value() < static_cast<std::int64_t>(study.trials.size());
  if (asked && input.attempt.value() >= 1 && input.attempt <= attempts_given(turn, input))
    return {};
  return Error(Errc::kNotFound, name_of(input) + " was not given to anybody as attempt " +
                                    std::to_string(input.attempt.value()))
      .with_field("trial")
      .with_value(std::to_string(input.trial.value()))
      .with_hint("speak of what `ask` gave: runnel study ask " + input.job.str());
}

// Null when its asker does not have it any more.
const LiveAttempt* held(const Turn& turn, const AttemptRef& attempt) {
  const Task* task = find_task(turn.state(), attempt.task);
  if (task == nullptr || !task->live || task->live->number != attempt.attempt) return nullptr;
  return &*task->live;
}

// The pruner had paused it, and found since that it should go on.
bool goes_on_by_the_pruner(const Turn& turn, const TrialCall& input) {
  const Task* task = find_task(turn.state(), attempt_of(input).task);
  return task != nullptr && task->status == Status::kQueued && task->reason == "Promoted";
}

Error taken_away(const Turn& turn, const TrialCall& input) {
  const Status status = status_of(step_of(turn.state(), input.job, input.step), input.trial);
  const bool given_again = input.attempt < attempts_given(turn, input);
  if (given_again || status == Status::kRecovering) {
    return conflict(name_of(input) +
                        " was taken away: its asker was silent for longer than the "
                        "lease, and it " +
                        (given_again ? "was given to somebody else" : "waits for who asks next"),
                    "report more often than the lease, or ask with a longer one; ask for another");
  }
  const bool is_halted = turn.state().jobs.at(input.job).halted;
  const std::string ask = (is_halted ? "runnel resume " + input.job.str() + ", and ask" : "ask") +
                          std::string(" for another: runnel study ask ") + input.job.str();
  if (trial_of(turn, input).parked) {
    return conflict(name_of(input) + " was paused by the pruner", ask);
  }
  if (goes_on_by_the_pruner(turn, input)) {
    return conflict(name_of(input) + " was paused by the pruner, and goes on with who asks next",
                    ask);
  }
  if (!model::is_end(status)) {
    return conflict(name_of(input) + " was taken back when its study was halted", ask);
  }
  return conflict(name_of(input) + " is already finished: " + std::string(model::to_string(status)),
                  "runnel study show " + input.job.str());
}

// Whether the values are those of the trial's last report: as numbers where they are some.
bool same_values(const Turn& turn, const TrialCall& input) {
  const Trial& trial = trial_of(turn, input);
  const auto& search = *spec_of(turn.state(), input.job, input.step).search;
  if (input.values.empty()) return true;
  if (trial.reports.empty()) return false;
  const TrialReport& last = trial.reports.back();
  const std::vector<double> now = values_of(search, {0, input.values});
  return last.values == input.values || (!now.empty() && now == values_of(search, last));
}

// Whether the end of the last attempt is what the call says.
bool said_before(const Turn& turn, const TrialCall& input) {
  const Trial& trial = trial_of(turn, input);
  const Task* task = find_task(turn.state(), attempt_of(input).task);
  if (task != nullptr && task->losses > 0) return false;  // Its asker was given up.
  // It failed and is tried again.
  if (!trial.told) return input.end == TrialEnd::kFailed && task != nullptr && task->charged > 0;
  switch (*trial.told) {
    case TrialEnd::kComplete: return input.end == TrialEnd::kComplete && same_values(turn, input);
    // By the search, before its asker knew, or by the same words.
    case TrialEnd::kPruned: return input.end != TrialEnd::kFailed;
    case TrialEnd::kFailed: break;
  }
  const bool for_its_value = task != nullptr && task->reason.starts_with("Metric");
  if (for_its_value) return input.end == TrialEnd::kComplete && same_values(turn, input);
  return input.end == TrialEnd::kFailed && task != nullptr && task->status == Status::kFailed;
}

void late(Turn& turn, const TrialCall& input) {
  const bool last = input.attempt == attempts_given(turn, input);
  if (!last || (input.verb == TrialCall::Verb::kTell && !said_before(turn, input))) {
    turn.refusal = taken_away(turn, input);
    return;
  }
  turn.repeated = true;
}

// A quarter of the lease is near enough, and spares the log an event per report.
void renew(Turn& turn, LaneId id) {
  const Lane& lane = turn.state().lanes.at(id);
  if ((turn.now() - lane.progress_at) * 4 < lane.lease()->length) return;
  turn.emit(model::LaneRenewed{id, lane.job});
}

void report(Turn& turn, const TrialCall& input) {
  const LiveAttempt* live = held(turn, attempt_of(input));
  if (live == nullptr) return late(turn, input);
  renew(turn, live->lane);
  if (input.values.empty()) return;
  take_values(turn, attempt_of(input), {input.at, input.values, input.attempt}, Last::kNo);
  obey_verdicts(turn);
}

void end_outside(Turn& turn, LaneId id, model::EndCause cause, std::string message,
                 std::int32_t code = 0) {
  const Lane& lane = turn.state().lanes.at(id);
  CHECK(lane.lease() != nullptr, "a node ends what runs on it");
  CHECK(lane.queue.size() == 1, "a lane that somebody outside holds has one trial");
  model::RankReport last;
  last.attempt = attempt_on(turn, lane);
  last.ended = true;
  last.ended_at = turn.now();
  last.code = code;
  last.cause = cause;
  last.message = std::move(message);
  end_attempt(turn, last.attempt, last);
}

void tell(Turn& turn, const TrialCall& input) {
  const AttemptRef attempt = attempt_of(input);
  const LiveAttempt* live = held(turn, attempt);
  if (live == nullptr) return late(turn, input);
  const LaneId lane = live->lane;
  if (input.end != TrialEnd::kFailed && !input.values.empty()) {
    const auto& reports = trial_of(turn, input).reports;
    const std::int64_t next = reports.empty() ? 0 : reports.back().at + 1;
    take_values(turn, attempt, {std::max(next, input.at), input.values, input.attempt}, Last::kYes);
  }
  if (input.end == TrialEnd::kPruned) {
    turn.emit(model::AttemptStopping{attempt, lane, Status::kPruned, input.actor});
    return;
  }
  const bool failed = input.end == TrialEnd::kFailed;
  end_outside(turn, lane, model::EndCause::kExited, failed ? input.message : "", failed ? 1 : 0);
}

}  // namespace

void on_trial_call(Turn& turn, const TrialCall& input) {
  turn.answer = input.job;
  const auto job = turn.state().jobs.find(input.job);
  const auto step = static_cast<std::size_t>(input.step.value());
  if (job == turn.state().jobs.end() || step >= job->second.steps.size()) {
    turn.refusal = Error(Errc::kNotFound, "there is no such step of job " + input.job.str())
                       .with_hint("list studies: runnel study list");
    return;
  }
  if (!job->second.spec->steps[step].is_external()) {
    turn.refusal =
        conflict("the trials of step '" + job->second.spec->steps[step].name + "' are run here",
                 "only a search without `run` and `command` can be asked");
    return;
  }
  if (input.verb == TrialCall::Verb::kAsk) return ask(turn, job->second, input);
  turn.refusal = check_given(turn, input);
  if (!turn.refusal) turn.refusal = check_values(turn, input);
  if (turn.refusal) return;
  turn.called = attempt_of(input);
  if (input.verb == TrialCall::Verb::kReport) return report(turn, input);
  tell(turn, input);
}

void on_recovered(Turn& turn) {
  std::vector<std::pair<LaneId, JobId>> held;
  for (const auto& [until, id] : turn.index().leases) {
    held.emplace_back(id, turn.state().lanes.at(id).job);
  }
  for (const auto& [lane, job] : held) turn.emit(model::LaneRenewed{lane, job});
}

void end_silent(Turn& turn) {
  const auto& leases = turn.index().leases;
  while (!leases.empty() && leases.begin()->first <= turn.now()) {
    const LaneId lane = leases.begin()->second;
    end_outside(turn, lane, model::EndCause::kVanished,
                "its asker was silent for longer than the lease of " +
                    to_string(turn.state().lanes.at(lane).lease()->length));
  }
}

void end_released(Turn& turn) {
  const auto& released = turn.index().released;
  while (!released.empty()) {
    end_outside(turn, *released.begin(), model::EndCause::kStopped, "");
  }
}

}  // namespace runnel::brain
