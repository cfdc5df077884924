#include "agent/phases/metrics_begin.h"

#include "base/check.h"
#include "output/metrics_begin.h"
#include "output/paths.h"

namespace runnel::agent {

bool MetricsBeginPhase::is_needed(const model::StartOrder& order) const {
  return order.first_rank == 0 && order.is_followed && order.attempt.attempt.value() > 1;
}

Workplace MetricsBeginPhase::workplace(const model::StartOrder& order) const {
  return {output::task_folder(home_, order.attempt.task), Reach::kBelow};
}

Result<Readiness> MetricsBeginPhase::prepare(const NodeId&, const model::StartOrder& order,
                                             Readiness so_far, PathTrail& trail) const {
  CHECK(is_needed(order), "what was reported before a first attempt is kept");
  const output::MetricsBegin begin = output::look_at_metrics(home_, order.attempt, so_far.plan);
  trail.follow(output::job_folder(home_, order.attempt.task.job));
  TRY(output::keep_metrics_begin(home_, order.attempt.task, begin));
  return so_far;
}

}  // namespace runnel::agent
