#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "extract/log_extractor.h"
#include "model/metric_spec.h"

namespace runnel::agent {

// Where a step's metrics are found besides its tasks' files, and what its search looks at.
struct MetricPlan {
  model::MetricSources sources;
  std::vector<std::string> objectives;  // Empty: no search.
  extract::Patterns patterns;           // Of sources.log; never null.
};
using MetricPlanPtr = std::shared_ptr<const MetricPlan>;

// The plan that lies in the job's folder; null when the step has none, or none that can be read.
MetricPlanPtr load_metric_plan(const std::string& home, const JobId& job, StepIndex step);

// The steps of a job that have plans, in order.
Result<std::vector<StepIndex>> steps_with_plans(const std::string& home, const JobId& job);

// The plans of a home's steps, each in a file of its job's folder.
//
// Contract: keep() writes the plan before it returns, once per step: whoever comes after this
//           process finds it. kInvalid for patterns that are none.
// Threads:  the loop's only.
// Limits:   kPlansMax are remembered, then all are read again.
class MetricPlans {
 public:
  static constexpr std::size_t kPlansMax = 1'000;

  explicit MetricPlans(std::string home) : home_(std::move(home)) {}

  // Null when there are no sources.
  Result<MetricPlanPtr> keep(const JobId& job, StepIndex step, const model::MetricSources& sources,
                             const std::vector<std::string>& objectives);
  // As load_metric_plan().
  MetricPlanPtr find(const JobId& job, StepIndex step);

 private:
  MetricPlanPtr& remembered(const JobId& job, StepIndex step);

  std::string home_;
  std::map<std::pair<JobId, StepIndex>, MetricPlanPtr> plans_;
};

}  // namespace runnel::agent
