#include "output/attempt_metrics.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "output/even_samples.h"
#include "output/metrics_begin.h"
#include "output/paths.h"

namespace runnel::output {
namespace {

bool holds(const model::MetricSample& sample, const std::string& name) {
  return std::any_of(sample.values.begin(), sample.values.end(),
                     [&](const auto& value) { return value.first == name; });
}

}  // namespace

void LatestMetrics::take(const std::vector<model::MetricSample>& samples) {
  for (const model::MetricSample& sample : samples) {
    for (const auto& [name, text] : sample.values) {
      if (values_.size() >= kNamesMax && !values_.contains(name)) continue;
      values_[name] = {sample.step, text};
    }
  }
}

std::optional<model::MetricSample> LatestMetrics::sample(
    const std::vector<std::string>& objectives) const {
  if (values_.empty()) return std::nullopt;
  model::MetricSample latest;
  for (const auto& [name, value] : values_) {
    latest.step = std::max(latest.step, value.step);
    latest.values.emplace_back(name, value.text);
  }
  std::int64_t step = 0;
  for (const std::string& name : objectives) {
    const auto found = values_.find(name);
    if (found == values_.end()) return latest;
    step = std::max(step, found->second.step);
  }
  if (!objectives.empty()) latest.step = step;
  return latest;
}

AttemptMetrics::AttemptMetrics(const std::string& home, const model::AttemptRef& attempt,
                               MetricPlanPtr plan, std::int64_t from)
    : home_(home),
      attempt_(attempt),
      plan_(std::move(plan)),
      file_(metrics_path(task_folder(home, attempt.task))) {
  if (!plan_ || plan_->patterns->empty()) return;
  output_.emplace(logs_folder(home, attempt.task.job), attempt, plan_->patterns, from);
}

void AttemptMetrics::begin() {
  if (std::exchange(begun_, true)) return;
  const MetricsBegin begin = metrics_begin_of(home_, attempt_);
  file_.begin_at(file_mark(begin));
  if (!plan_ || plan_->sources.tensorboard.empty()) return;
  EventFolder::Sizes sizes;
  for (const MetricsBegin::EventFile& file : begin.events) sizes[file.name] = file.size;
  events_.emplace(task_folder(home_, attempt_.task) + "/" + plan_->sources.tensorboard,
                  std::move(sizes));
}

std::vector<model::MetricSample> AttemptMetrics::look() {
  begin();
  std::vector<model::MetricSample> samples = file_.read();
  if (!plan_) return samples;
  if (output_) output_->look(samples);
  if (events_ && looks_++ % kEventsEvery == 0) events_->read(samples);
  return chosen(std::move(samples));
}

std::vector<model::MetricSample> AttemptMetrics::finish() {
  begin();
  has_objective_ = true;  // If not, what it said last tells.
  EvenSamples rest;
  const auto take = [this, &rest](std::vector<model::MetricSample> samples) {
    rest.take(plan_ ? chosen(std::move(samples)) : std::move(samples));
  };
  file_.skip_to_last();
  file_.read_to_end(take);
  if (output_) output_->finish(take);
  std::vector<model::MetricSample> samples;
  while (events_ && events_->read(samples) > 0) take(std::exchange(samples, {}));
  return std::move(rest).finish();
}

std::optional<model::MetricSample> AttemptMetrics::latest() const {
  if (plan_) return latest_.sample(plan_->objectives);
  if (file_.empty()) return std::nullopt;
  return file_.latest();
}

std::vector<model::MetricSample> AttemptMetrics::chosen(std::vector<model::MetricSample> samples) {
  CHECK(plan_ != nullptr, "without a plan everything is told");
  latest_.take(samples);
  std::erase_if(samples,
                [this](const model::MetricSample& sample) { return !is_worth_telling(sample); });
  return samples;
}

bool AttemptMetrics::is_worth_telling(const model::MetricSample& sample) {
  CHECK(begun_, "a sample is judged before where its attempt begins is known");
  const std::vector<std::string>& objectives = plan_->objectives;
  const bool useful = std::any_of(objectives.begin(), objectives.end(),
                                  [&](const std::string& name) { return holds(sample, name); });
  has_objective_ |= useful;
  if (has_objective_ || others_.size() >= LatestMetrics::kNamesMax) return useful;
  bool is_new = false;
  for (const auto& [name, value] : sample.values) is_new |= others_.insert(name).second;
  return is_new;
}

}  // namespace runnel::output
