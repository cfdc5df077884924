#include "output/metric_plan.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "model/spec_records.h"
#include "output/log_index.h"
#include "output/paths.h"

namespace runnel::output {

// The stored form.
struct StoredMetricPlan {
  std::vector<std::string> objectives;
  model::MetricSources sources;
  friend bool operator==(const StoredMetricPlan&, const StoredMetricPlan&) = default;
};

}  // namespace runnel::output

namespace runnel::model {

template <>
struct Fields<output::StoredMetricPlan> {
  static void visit(auto& visit, auto& plan) {
    visit("objectives", plan.objectives);
    visit("sources", plan.sources);
  }
};

}  // namespace runnel::model

namespace runnel::output {
namespace {

std::string plan_folder(const std::string& home, const JobId& job) {
  return job_folder(home, job) + "/metrics";
}

std::string plan_path(const std::string& home, const JobId& job, StepIndex step) {
  return plan_folder(home, job) + "/" + std::to_string(step.value()) + ".json";
}

Result<StoredMetricPlan> read_plan(const std::string& path) {
  const std::string text = TRY(env::read_file(path));
  return model::parse_record<StoredMetricPlan>(text);
}

// Not synced: after a crash of the machine nothing runs that it could be for, and an attempt that
// starts then writes it again.
Result<void> write_plan(const std::string& home, const JobId& job, StepIndex step,
                        const StoredMetricPlan& plan) {
  CHECK(!plan.sources.empty(), "a plan without sources is kept");
  const std::string path = plan_path(home, job, step);
  const Result<StoredMetricPlan> there = read_plan(path);
  if (there.ok() && *there == plan) return {};
  TRY(env::make_directories(plan_folder(home, job)));
  TRY(env::remove_file(path));
  return env::append_file(path, model::record_text(plan));
}

Result<MetricPlanPtr> compiled(StoredMetricPlan stored) {
  extract::Patterns patterns = TRY(extract::compile(stored.sources.log));
  return std::make_shared<const MetricPlan>(
      MetricPlan{std::move(stored.sources), std::move(stored.objectives), std::move(patterns)});
}

}  // namespace

MetricPlanPtr load_metric_plan(const std::string& home, const JobId& job, StepIndex step) {
  const std::string path = plan_path(home, job, step);
  if (!env::exists(path)) return nullptr;
  Result<StoredMetricPlan> stored = read_plan(path);
  if (!stored.ok()) return nullptr;
  Result<MetricPlanPtr> plan = compiled(*std::move(stored));
  return plan.ok() ? *std::move(plan) : nullptr;
}

Result<std::vector<StepIndex>> steps_with_plans(const std::string& home, const JobId& job) {
  std::vector<StepIndex> steps;
  const std::string folder = plan_folder(home, job);
  if (!env::exists(folder)) return steps;
  for (const std::string& name : TRY(env::list_directory(folder))) {
    std::int32_t step = 0;
    const char* const end = name.data() + name.size();
    const auto [dot, problem] = std::from_chars(name.data(), end, step);
    if (problem == std::errc() && std::string_view(dot, end) == ".json") steps.emplace_back(step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Result<MetricPlanPtr> keep_metric_plan(const std::string& home, const JobId& job, StepIndex step,
                                       const model::MetricSources& sources,
                                       const std::vector<std::string>& objectives) {
  MetricPlanPtr plan = TRY(compiled({objectives, sources}));
  TRY(write_plan(home, job, step, {objectives, sources}));
  return plan;
}

void MetricPlans::remember(const Key& key, MetricPlanPtr plan) {
  CHECK(plan != nullptr, "a plan that is none is remembered");
  if (plans_.size() >= kPlansMax && !plans_.contains(key)) plans_.clear();
  plans_[key] = std::move(plan);
}

MetricPlanPtr MetricPlans::find(const Key& key) const {
  const auto found = plans_.find(key);
  return found == plans_.end() ? nullptr : found->second;
}

MetricPlanPtr MetricPlans::find(const Key& key, const model::MetricSources& sources,
                                const std::vector<std::string>& objectives) const {
  MetricPlanPtr plan = find(key);
  const bool same = plan && plan->sources == sources && plan->objectives == objectives;
  return same ? plan : nullptr;
}

}  // namespace runnel::output
