#include "sim/health_check.h"

namespace runnel::sim {
namespace {

using model::Status;

std::string name_of(const model::AttemptRef& attempt) {
  return "attempt " + model::to_string(attempt);
}

}  // namespace

std::string HealthCheck::on(const model::TaskWarned& event, const model::StepSpec& spec) {
  const std::string name = name_of(event.attempt);
  if (!told_.insert({event.attempt, event.reason}).second) return name + " is warned of twice";
  const auto action = action_on(spec.health, event.reason);
  if (!action) return name + " is warned of though nobody wants to know";
  if (*action != event.action) return name + " is judged by another policy than its step's";
  if (event.rank < 0 || event.rank >= spec.rank_count()) return name + " has no such rank";
  const auto asked = stopping_.find(event.attempt);
  if (asked != stopping_.end() && asked->second != Status::kQueued) {
    return name + " is accused while it ends";
  }
  if (event.action != model::HealthAction::kWarn) verdicts_[event.attempt] = event;
  return "";
}

std::string HealthCheck::on(const model::AttemptStopping& event) {
  stopping_[event.attempt] = event.because;
  return "";
}

// A user's request meanwhile goes first, and an attempt that left well is done.
std::optional<model::HealthAction> HealthCheck::verdict_on(const model::AttemptEnded& ended) const {
  const auto verdict = verdicts_.find(ended.attempt);
  if (verdict == verdicts_.end()) return std::nullopt;
  const auto asked = stopping_.find(ended.attempt);
  if (asked == stopping_.end() || asked->second != Status::kFailed) return std::nullopt;
  // A trial's program can do well and its trial not.
  const bool valueless = ended.reason == "MetricMissing" || ended.reason == "MetricNotFinite";
  const bool done = (ended.to == Status::kSucceeded || valueless) &&
                    verdict->second.reason != model::HealthProblem::kNotFinite;
  return done ? std::nullopt : std::optional(verdict->second.action);
}

std::string HealthCheck::check_end(const model::AttemptEnded& ended, model::HealthAction action,
                                   bool budget_left) const {
  const model::TaskWarned& verdict = verdicts_.at(ended.attempt);
  const std::string name = name_of(ended.attempt);
  const bool again = action == model::HealthAction::kRestart && budget_left;
  if (ended.reason != to_string(verdict.reason)) {
    return name + " ends for " + ended.reason + ", not for " +
           std::string(to_string(verdict.reason));
  }
  if (ended.first_failed != verdict.rank) return name + " ends with another rank named";
  if (ended.charged != again) return name + " is tried again for free, or pays for nothing";
  if (ended.task != (again ? Status::kRecovering : Status::kFailed)) {
    return name + " leaves its task otherwise than its policy says";
  }
  return "";
}

}  // namespace runnel::sim
