#include "agent/phases/metric_plan.h"

#include "base/check.h"
#include "output/paths.h"

namespace runnel::agent {

bool MetricPlanPhase::is_needed(const model::StartOrder& order) const {
  const model::TaskRef& task = order.attempt.task;
  return concerns(order) && !known_.find({task.job, task.step}, order.metrics, order.objectives);
}

Workplace MetricPlanPhase::workplace(const model::StartOrder& order) const {
  return {output::job_folder(home_, order.attempt.task.job), Reach::kFolder};
}

Result<Readiness> MetricPlanPhase::prepare(const NodeId&, const model::StartOrder& order,
                                           Readiness so_far, PathTrail&) const {
  CHECK(concerns(order), "a plan is kept of a step that names no metrics");
  const model::TaskRef& task = order.attempt.task;
  so_far.plan =
      TRY(output::keep_metric_plan(home_, task.job, task.step, order.metrics, order.objectives));
  return so_far;
}

}  // namespace runnel::agent
