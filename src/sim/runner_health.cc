// Ranks that hang, lag or report NaN, and what a look at them tells.
#include <algorithm>
#include <string>

#include "model/health.h"
#include "sim/fate.h"
#include "sim/health_fact.h"
#include "sim/runner.h"

namespace runnel::sim {
namespace {

// Where other streams than a rank's fate have their number.
constexpr std::int32_t kProblemStream = 2'000'000;

using model::AttemptRef;
using model::EndCause;

}  // namespace

void SimRunner::give_problem(model::HealthProblem problem, Duration lasts) {
  Time& until = problems_until_[problem];
  until = std::max(until, agenda_.now() + lasts);
  for (auto& [ref, attempt] : attempts_) {
    if (attempt.phase == Phase::kRunning) give_problem(attempt, problem, lasts);
  }
}

// One of its ranks here, if it is looked at for this.
void SimRunner::give_problem(Attempt& attempt, model::HealthProblem problem, Duration lasts) {
  const AttemptRef& ref = attempt.order.attempt;
  const auto policy = watched_.find(ref);
  if (policy == watched_.end() || attempt.stopping) return;
  const auto action = action_on(policy->second, problem);
  Dice dice(mixed(seed_, ref, kProblemStream + static_cast<std::int32_t>(problem)));
  if (!action || dice.chance(300)) return;
  const std::int32_t last = attempt.order.rank_count - 1;
  const auto rank = static_cast<std::int32_t>(attempt.order.first_rank + dice.between(0, last));
  if (attempt.ranks.at(rank).ended) return;
  if (!truth_.problems.insert({ref, rank, problem}).second) return;
  const bool hangs = problem == model::HealthProblem::kHung;
  if (hangs) {
    attempt.hung.insert(rank);
    if (*action == model::HealthAction::kWarn) hang(attempt, rank, lasts);
  }
  const model::HealthReport report = enough_of(policy->second, ref, rank, problem);
  see_later(hangs ? report.silent_for : Duration::millis(dice.between(0, 50)), report);
}

// Until it goes on and ends.
void SimRunner::hang(const Attempt& attempt, std::int32_t rank, Duration lasts) {
  later(lasts, [this, ref = attempt.order.attempt, rank] {
    const auto found = attempts_.find(ref);
    if (found != attempts_.end()) found->second.hung.erase(rank);
    end_rank(ref, rank, 0, 0, EndCause::kExited);
  });
}

void SimRunner::see_later(Duration delay, const model::HealthReport& report) {
  later(delay, [this, report] {
    const auto found = attempts_.find(report.attempt);
    if (found == attempts_.end() || found->second.phase != Phase::kRunning) return;
    if (!found->second.ranks.at(report.rank).ended) see(found->second, report);
  });
}

// What a look at a rank that is well may tell: a true word that accuses nobody.
void SimRunner::see_too_little(Attempt& attempt) {
  const auto policy = watched_.find(attempt.order.attempt);
  if (policy == watched_.end()) return;
  for (const auto problem : {model::HealthProblem::kHung, model::HealthProblem::kNotFinite,
                             model::HealthProblem::kSlow}) {
    if (!action_on(policy->second, problem)) continue;
    model::HealthReport report =
        enough_of(policy->second, attempt.order.attempt, attempt.order.first_rank, problem);
    report.silent_for = std::max(report.silent_for - Duration::millis(1), Duration());
    report.value = "1e300";
    report.steps -= 1;
    see(attempt, report);
  }
}

void SimRunner::see(Attempt& attempt, const model::HealthReport& report) {
  attempt.health.push_back(report);
  if (watched_.contains(report.attempt)) tell_({{}, {}, {report}});
}

void SimRunner::watch(const AttemptRef& ref, const model::HealthPolicy& policy) {
  watched_[ref] = policy;
  const auto found = attempts_.find(ref);
  if (found == attempts_.end() || found->second.health.empty()) return;
  tell_({{}, {}, found->second.health});
}

}  // namespace runnel::sim
