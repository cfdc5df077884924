#include "brain/outcome.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "brain/suspects.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Fault;
using model::Status;

// A checkpoint exit that comes at once, again and again, must not spin.
constexpr Duration kRequeueDelay = Duration::seconds(1);
constexpr Duration kLoneWaitMin = Duration::seconds(1);

Duration doubled(Duration first, std::int32_t times, Duration most) {
  Duration delay = first;
  for (std::int32_t count = 0; count < times && delay < most; ++count) delay = delay * 2;
  return std::min(delay, most);
}

Outcome stopped(Status because) {
  switch (because) {
    case Status::kPaused:
      return {.attempt = Status::kCancelled, .task = Status::kPaused, .reason = "Halted"};
    case Status::kPruned:
      return {.attempt = Status::kCancelled, .task = Status::kPruned, .reason = "Pruned"};
    case Status::kPreempted:
      return {.attempt = Status::kPreempted, .task = Status::kQueued, .reason = "Preempted"};
    case Status::kQueued:
      return {.attempt = Status::kCancelled, .task = Status::kQueued, .reason = "Rebalanced"};
    default:
      return {.attempt = Status::kCancelled, .task = Status::kCancelled, .reason = "Cancelled"};
  }
}

Outcome lost(const Task& task, const Ending& ending, std::string reason, std::string message,
             Time now) {
  Outcome outcome{.attempt = Status::kNodeFail,
                  .task = Status::kRecovering,
                  .fault = Fault::kPlatform,
                  .reason = std::move(reason),
                  .message = std::move(message)};
  if (task.losses >= kLossesMax) {
    outcome.task = Status::kFailed;
    outcome.message += "; given up after " + std::to_string(kLossesMax) + " losses in a row";
  } else if (task.losses > 0) {
    const Duration wait = doubled(Duration::seconds(1), task.losses - 1, kLossBackoffMax);
    outcome.not_before = now + wait + Duration::millis(wait.millis() * ending.jitter / 1'024);
  }
  return outcome;
}

Outcome lost_with_node(const Task& task, const Ending& ending, Time now) {
  const std::string& why = ending.message;
  return lost(task, ending, "NodeFail", why.empty() ? "its node or runner was lost" : why, now);
}

Outcome lost_with_device(const Task& task, const Ending& ending, Time now) {
  const std::string& why = ending.message;
  return lost(task, ending, "DeviceLost", why.empty() ? "a device of its vanished" : why, now);
}

// It was alone with its runner, so nobody comes back with it; but whoever kills runners meanwhile
// must be likelier to meet the idle one than this task: that speaks for it.
Outcome lost_alone(const Task& task, const Ending& ending, Outcome outcome, Time now) {
  if (task.alone == 0 || outcome.task != Status::kRecovering) return outcome;
  const Duration wait = std::clamp(ending.ran_for * 2, kLoneWaitMin, kLossBackoffMax);
  outcome.not_before = now + wait + Duration::millis(wait.millis() * ending.jitter / 1'024);
  return outcome;
}

// The next attempt gets the next port, so waiting would gain nothing until several in a row were
// taken: then somebody may have taken all.
Outcome port_taken(const Task& task, const Ending& ending, Time now) {
  Outcome outcome = lost(task, ending, "PortBusy", "the gang's port was taken", now);
  if (outcome.task != Status::kRecovering) return outcome;
  const std::int32_t beyond = task.losses - kPortsAtOnce;
  outcome.not_before =
      beyond < 0 ? Time() : now + doubled(Duration::seconds(1), beyond, kLossBackoffMax);
  return outcome;
}

// Its runner crashed so often while only this task ran that it must be the task.
Outcome found_out(const Task& task) {
  return {.attempt = Status::kNodeFail,
          .task = Status::kFailed,
          .fault = Fault::kUser,
          .reason = std::string(kRunnerLost),
          .message = "the node's runner was killed " + std::to_string(task.alone) +
                     " times in a row while only this task ran on its node"};
}

std::string_view event_word(Status attempt) {
  if (attempt == Status::kTimeout) return "timeout";
  if (attempt == Status::kOutOfMemory) return "out_of_memory";
  return "failed";
}

bool may_retry(const model::RetryPolicy& retry, const Task& task, Status attempt,
               std::int32_t code) {
  if (task.charged >= retry.max) return false;
  if (retry.on_exit_codes.empty() && retry.on_events.empty()) return true;
  const auto& codes = retry.on_exit_codes;
  if (attempt == Status::kFailed && std::find(codes.begin(), codes.end(), code) != codes.end()) {
    return true;
  }
  const auto& words = retry.on_events;
  return std::find(words.begin(), words.end(), event_word(attempt)) != words.end();
}

Outcome tried_again(const model::RetryPolicy& retry, const Task& task, Outcome outcome, Time now) {
  outcome.charged = true;
  outcome.task = Status::kRecovering;
  const Duration delay = doubled(retry.backoff_min, task.charged, retry.backoff_max);
  outcome.not_before = delay.is_zero() ? Time() : now + delay;
  return outcome;
}

Outcome failed(const model::StepSpec& spec, const Task& task, Outcome outcome, std::int32_t code,
               Time now) {
  outcome.fault = Fault::kUser;
  outcome.task = outcome.attempt;
  if (!may_retry(spec.retry, task, outcome.attempt, code)) return outcome;
  return tried_again(spec.retry, task, std::move(outcome), now);
}

// Whether it ended because its verdict said so. Who left with 0 before hearing of it is done, but
// not with a result that is no number; and what its user asked for meanwhile goes first.
bool obeyed(const Ending& ending) {
  if (!ending.verdict || ending.stopping != Status::kFailed) return false;
  return !ending.all_succeeded || ending.verdict->reason == model::HealthProblem::kNotFinite;
}

// The policy names the case, so the conditions of `retry` do not: only its budget.
Outcome judged(const model::StepSpec& spec, const Task& task, const Verdict& verdict, Time now) {
  Outcome outcome{.attempt = Status::kFailed,
                  .task = Status::kFailed,
                  .fault = Fault::kUser,
                  .reason = std::string(to_string(verdict.reason)),
                  .message = verdict.message,
                  .rank = verdict.rank};
  if (verdict.action != model::HealthAction::kRestart) return outcome;
  if (task.charged < spec.retry.max) return tried_again(spec.retry, task, std::move(outcome), now);
  outcome.message += "; retry.max is used up: " + std::to_string(spec.retry.max);
  return outcome;
}

Outcome exited(const model::StepSpec& spec, const Task& task, const Ending& ending, Time now) {
  const std::int32_t code = ending.signal != 0 ? 128 + ending.signal : ending.code;
  if (spec.checkpoint.has_value() && spec.checkpoint->exit_code == code) {
    Outcome outcome{
        .attempt = Status::kPreempted, .task = Status::kRecovering, .reason = "CheckpointExit"};
    if (ending.ran_for < kRequeueDelay) outcome.not_before = now + kRequeueDelay;
    return outcome;
  }
  const bool by_signal = ending.signal != 0;
  Outcome outcome{.attempt = Status::kFailed,
                  .reason = by_signal ? "Signalled" : "NonZeroExit",
                  .message = by_signal ? "ended by signal " + std::to_string(ending.signal)
                                       : "exited with code " + std::to_string(ending.code)};
  if (!ending.message.empty()) outcome.message = ending.message;
  return failed(spec, task, std::move(outcome), code, now);
}

}  // namespace

Outcome outcome_of(const model::StepSpec& spec, const Task& task, const Ending& ending, Time now) {
  if (obeyed(ending)) return judged(spec, task, *ending.verdict, now);
  if (ending.all_succeeded) return {.reason = "Completed"};
  if (ending.stopping == Status::kNodeFail) return lost_with_device(task, ending, now);
  const bool by_request = ending.stopping.has_value() && *ending.stopping != Status::kFailed;
  const bool withdrawn = by_request && *ending.stopping == Status::kQueued;
  if (withdrawn && ending.cause == EndCause::kNotStarted) return stopped(Status::kQueued);
  if (by_request && !withdrawn) return stopped(*ending.stopping);
  switch (ending.cause) {
    case EndCause::kRunnerLost:
      if (task.alone >= ending.alone_max) return found_out(task);
      return lost_alone(task, ending, lost_with_node(task, ending, now), now);
    case EndCause::kVanished: return lost_with_node(task, ending, now);
    case EndCause::kPortBusy: return port_taken(task, ending, now);
    case EndCause::kNotStarted:
      return lost(task, ending, std::string(kStartFailed), ending.message, now);
    case EndCause::kStopped:
      return lost(task, ending, "Stopped", "it was stopped without a request", now);
    case EndCause::kTimeout:
      return failed(spec, task,
                    {.attempt = Status::kTimeout,
                     .reason = "TimeLimit",
                     .message = "ran longer than max_duration " + to_string(spec.max_duration)},
                    124, now);
    case EndCause::kOutOfMemory:
      return failed(spec, task,
                    {.attempt = Status::kOutOfMemory,
                     .reason = "MemoryLimit",
                     .message = "used more than its memory of " + to_string(spec.resources.memory)},
                    137, now);
    case EndCause::kExited: return exited(spec, task, ending, now);
  }
  CHECK(false, "an attempt ended for no known cause");
  return {};
}

}  // namespace runnel::brain
