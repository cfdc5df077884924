#include "agent/health_files.h"

#include <algorithm>

#include "base/check.h"
#include "model/health.h"
#include "output/metrics_begin.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

bool has_such_a_value(const model::MetricSample& sample, const std::string& metric) {
  return std::any_of(sample.values.begin(), sample.values.end(), [&](const auto& value) {
    return model::is_unhealthy(value.first, value.second, metric);
  });
}

}  // namespace

output::MetricsFile& HealthFiles::metrics_of(const model::AttemptRef& attempt) {
  const auto found = metrics_.find(attempt);
  if (found != metrics_.end()) return found->second;
  output::MetricsFile metrics(output::metrics_path(output::task_folder(home_, attempt.task)),
                              output::MetricsFile::Ranks::kAll);
  if (attempt.attempt > AttemptNumber(1)) {
    const output::MetricsBegin begin = output::metrics_begin_of(home_, attempt);
    if (begin.attempt == attempt.attempt.value()) {
      metrics.begin_at(output::file_mark(begin));
    } else {
      metrics.skip();
    }
  }
  return metrics_.emplace(attempt, std::move(metrics)).first->second;
}

void HealthFiles::keep_only(const Attempts& asked) {
  for (auto attempt = followed_.begin(); attempt != followed_.end();) {
    if (asked.contains(*attempt)) {
      ++attempt;
      continue;
    }
    outputs_.forget(*attempt);
    attempt = followed_.erase(attempt);
  }
  std::erase_if(metrics_, [&](const auto& entry) { return !asked.contains(entry.first); });
}

std::map<model::AttemptRef, HealthFiles::Seen> HealthFiles::look(const Attempts& asked) {
  CHECK(!asked.empty(), "a job is looked at of which nothing is watched");
  for (const auto& [attempt, how] : asked) {
    CHECK(attempt.task.job == asked.begin()->first.task.job, "a look at the files of two jobs");
    if (followed_.insert(attempt).second) outputs_.follow(attempt, how.begun);
  }
  keep_only(asked);
  outputs_.look();
  std::map<model::AttemptRef, Seen> found;
  for (const auto& [attempt, how] : asked) {
    output::MetricsFile& metrics = metrics_of(attempt);
    Seen& seen = found[attempt];
    seen.samples = metrics.read();
    seen.behind = metrics.behind();
    for (const std::int32_t rank : how.sized) {
      if (const auto size = outputs_.size(attempt, rank)) seen.sizes[rank] = *size;
    }
  }
  return found;
}

std::vector<model::MetricSample> HealthFiles::rest(const model::AttemptRef& attempt, End end,
                                                   const std::string& metric) {
  std::vector<model::MetricSample> samples;
  std::set<std::int32_t> ranks;  // With a value that is not finite.
  const auto take = [&](std::vector<model::MetricSample> piece) {
    for (model::MetricSample& sample : piece) {
      const bool first = has_such_a_value(sample, metric) && ranks.insert(sample.rank).second;
      if (first || samples.size() < kRestMax) samples.push_back(std::move(sample));
    }
  };
  output::MetricsFile& metrics = metrics_of(attempt);
  metrics.skip_to_last();
  if (end == End::kWhole) {
    metrics.read_to_end(take);
  } else {
    metrics.read_whole_lines(take);
  }
  return samples;
}

}  // namespace runnel::agent
