#include "sim/health_fact.h"

namespace runnel::sim {

model::HealthReport enough_of(const model::HealthPolicy& policy, const model::AttemptRef& attempt,
                              std::int32_t rank, model::HealthProblem problem) {
  model::HealthReport report;
  report.attempt = attempt;
  report.rank = rank;
  report.problem = problem;
  report.step = 7;
  if (policy.hang) report.silent_for = policy.hang->after;
  if (policy.nan) report.metric = policy.nan->metric.empty() ? "loss" : policy.nan->metric;
  report.value = "nan";
  report.steps = model::kSlowStepsMin;
  report.median = Micros::count(1'000);
  if (policy.straggler) report.took = Micros::count(policy.straggler->factor_permille);
  return report;
}

model::HealthReport accusation(const model::AttemptRef& attempt, std::int32_t rank,
                               model::HealthProblem problem) {
  const model::HealthPolicy strict{model::HangPolicy{Duration::hours(1), {}},
                                   model::NanPolicy{"loss", {}},
                                   model::StragglerPolicy{model::kFactorPermilleMax, {}}};
  return enough_of(strict, attempt, rank, problem);
}

}  // namespace runnel::sim
