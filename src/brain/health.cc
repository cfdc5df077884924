#include "brain/health.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/check.h"
#include "brain/places.h"

namespace runnel::brain {
namespace {

using model::HealthProblem;
using model::HealthReport;

// The attempt it speaks of; null when the report is stale, doubled or made up.
const LiveAttempt* attempt_meant(const State& state, const NodeId& node,
                                 const HealthReport& report) {
  const Task* task = find_task(state, report.attempt.task);
  if (task == nullptr || !task->live || task->live->number != report.attempt.attempt) {
    return nullptr;
  }
  const LiveAttempt& live = *task->live;
  const Share share = share_of(state.lanes.at(live.lane), node);
  if (report.rank < share.first_rank || report.rank >= share.end()) return nullptr;
  if (live.ended_ranks.contains(report.rank) || !live.continues()) return nullptr;
  const bool known =
      std::find(live.warned.begin(), live.warned.end(), report.problem) != live.warned.end();
  return known ? nullptr : &live;
}

// Whether the numbers amount to what the policy means.
bool is_enough(const model::HealthPolicy& policy, const HealthReport& report) {
  switch (report.problem) {
    case HealthProblem::kHung: return policy.hang && report.silent_for >= policy.hang->after;
    case HealthProblem::kNotFinite:
      return policy.nan && model::is_unhealthy(report.metric, report.value, policy.nan->metric);
    case HealthProblem::kSlow:
      return policy.straggler && report.steps >= model::kSlowStepsMin && !report.median.is_zero() &&
             report.took.count() * 1'000 / report.median.count() >=
                 policy.straggler->factor_permille;
    case HealthProblem::kMetricMissing: return false;  // No node is asked about it.
  }
  CHECK(false, "a problem that is not one");
  return false;
}

// "3.1 s", "31 ms", "310 us".
std::string time_text(Micros length) {
  constexpr Micros kShownInMillis = Micros::count(10'000);
  if (length < kShownInMillis) return std::to_string(length.count()) + " us";
  return human(length.in_millis());
}

std::string after_step(const HealthReport& report) {
  return report.step < 0 ? "" : ", the last step it reported is " + std::to_string(report.step);
}

// A rank that waits for one that hangs falls silent soon after it.
std::string as_others(std::int32_t count) {
  return count == 0 ? "" : "; " + std::to_string(count) + " of the others are silent as well";
}

std::string sentence(const HealthReport& report, std::int32_t ranks) {
  const std::string who =
      "rank " + std::to_string(report.rank) + " of " + std::to_string(ranks) + " ";
  switch (report.problem) {
    case HealthProblem::kHung:
      return who + "wrote no output and no metric for " + human(report.silent_for) + ", since " +
             rfc3339(report.since) + after_step(report) + as_others(report.silent_others);
    case HealthProblem::kNotFinite:
      return who + "reported " + report.metric + "=" + report.value + " at step " +
             std::to_string(report.step);
    case HealthProblem::kSlow: {
      const std::int64_t tenths = report.took.count() * 10 / report.median.count();
      return who + "takes " + time_text(report.took) + " for a step, " +
             std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) +
             " times the median of the others (" + time_text(report.median) +
             "), in each of its last " + std::to_string(report.steps) + after_step(report);
    }
    case HealthProblem::kMetricMissing: break;
  }
  CHECK(false, "a problem that no node tells");
  return "";
}

}  // namespace

void take_health(Turn& turn, const NodeId& node, const HealthReport& report) {
  const LiveAttempt* live = attempt_meant(turn.state(), node, report);
  if (live == nullptr) return;
  const model::TaskRef& task = report.attempt.task;
  const model::StepSpec& spec = spec_of(turn.state(), task.job, task.step);
  if (!is_enough(spec.health, report)) return;
  const LaneId lane = live->lane;
  const std::optional<model::HealthAction> action = action_on(spec.health, report.problem);
  CHECK(action.has_value(), "a problem is enough for a policy that is not there");
  turn.emit(model::TaskWarned{report.attempt, report.rank, report.problem,
                              sentence(report, spec.rank_count()), report.since, *action});
  if (*action == model::HealthAction::kWarn) return;
  turn.emit(model::AttemptStopping{report.attempt, lane, model::Status::kFailed, "runnel"});
}

}  // namespace runnel::brain
