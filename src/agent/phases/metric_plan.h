#pragma once

#include <string>
#include <utility>

#include "agent/phases/phase.h"
#include "output/metric_plan.h"

namespace runnel::agent {

// Keeps where a step's tasks report, for whoever reads their metrics later. It is the step's, and
// stays when an attempt does not begin.
class MetricPlanPhase final : public Phase {
 public:
  // `known`: the plans that need not be kept again; outlives the phase.
  MetricPlanPhase(std::string home, const output::MetricPlans& known)
      : home_(std::move(home)), known_(known) {}

  // Only rank 0 reports, and only where the step says of what.
  static bool concerns(const model::StartOrder& order) {
    return order.first_rank == 0 && !order.metrics.empty();
  }

  Traits traits() const override { return {"agent-plans", Duration::minutes(10)}; }
  bool is_needed(const model::StartOrder& order) const override;
  Workplace workplace(const model::StartOrder& order) const override;
  std::string waits_for(const model::StartOrder&) const override { return "the folder of its job"; }
  Result<Readiness> prepare(const NodeId&, const model::StartOrder& order, Readiness so_far,
                            PathTrail& trail) const override;

 private:
  const std::string home_;
  const output::MetricPlans& known_;
};

}  // namespace runnel::agent
