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

namespace runnel::output {

// The sources of a step's metrics besides its tasks' files, and what its search looks at.
struct MetricPlan {
  model::MetricSources sources;
  std::vector<std::string> objectives;  // Empty: no search.
  extract::Patterns patterns;           // Compiled from sources.log; never null.
};
using MetricPlanPtr = std::shared_ptr<const MetricPlan>;

// The plan that lies in the job's folder; null when the step has none, or none that can be read.
MetricPlanPtr load_metric_plan(const std::string& home, const JobId& job, StepIndex step);

// The steps of a job that have plans, in order.
Result<std::vector<StepIndex>> steps_with_plans(const std::string& home, const JobId& job);

// Writes the plan into the job's folder, where whoever comes after this process finds it. kInvalid
// for patterns that are none. Blocks.
Result<MetricPlanPtr> keep_metric_plan(const std::string& home, const JobId& job, StepIndex step,
                                       const model::MetricSources& sources,
                                       const std::vector<std::string>& objectives);

// The plans that this process has kept or loaded, so that it does so once per step.
//
// Threads:  the loop's only; it touches no file.
// Limits:   kPlansMax are remembered, then all are forgotten.
class MetricPlans {
 public:
  static constexpr std::size_t kPlansMax = 1'000;
  using Key = std::pair<JobId, StepIndex>;

  void remember(const Key& key, MetricPlanPtr plan);
  // Null: none is remembered.
  MetricPlanPtr find(const Key& key) const;
  // As find(), of these sources and objectives.
  MetricPlanPtr find(const Key& key, const model::MetricSources& sources,
                     const std::vector<std::string>& objectives) const;

 private:
  std::map<Key, MetricPlanPtr> plans_;
};

}  // namespace runnel::output
