#include "agent/metrics_watch.h"

#include <optional>
#include <utility>

#include "agent/index_file.h"
#include "agent/log_index.h"

namespace runnel::agent {
namespace {

model::MetricReport report_of(const model::AttemptRef& attempt, MetricSample sample) {
  return {attempt, sample.step, std::move(sample.values), false};
}

std::vector<model::MetricReport> reports_of(const model::AttemptRef& attempt,
                                            std::vector<MetricSample> samples) {
  std::vector<model::MetricReport> reports;
  const std::size_t every = samples.size() / MetricsWatch::kReportsMax + 1;
  // From the back, so that the newest is among them.
  for (std::size_t i = (samples.size() + every - 1) % every; i < samples.size(); i += every) {
    reports.push_back(report_of(attempt, std::move(samples[i])));
  }
  return reports;
}

}  // namespace

MetricsWatch::MetricsWatch(async::EventLoop& loop, std::string home, Tell tell)
    : loop_(loop), home_(std::move(home)), tell_(std::move(tell)) {}

void MetricsWatch::follow(const AttemptOnNode& of, MetricPlanPtr plan, Begun begun) {
  const bool printed = plan && !plan->patterns->empty();
  // Of an attempt that has not begun the index holds nothing yet, and may hold a million others.
  const std::int64_t from = printed && begun == Begun::kNotYet
                                ? IndexFile(logs_folder(home_, of.attempt.task.job)).records()
                                : 0;
  followed_.try_emplace(of, home_, of.attempt, std::move(plan), from);
}

std::vector<model::MetricReport> MetricsWatch::finish(const AttemptOnNode& of) {
  const auto found = followed_.find(of);
  if (found == followed_.end()) return {};
  AttemptMetrics& metrics = found->second;
  std::vector<model::MetricReport> reports = reports_of(of.attempt, metrics.finish());
  if (std::optional<MetricSample> latest = metrics.latest()) {
    reports.push_back(report_of(of.attempt, *std::move(latest)));
    reports.back().last = true;
  }
  followed_.erase(found);
  return reports;
}

Async<void> MetricsWatch::run(async::StopToken stop) {
  while (true) {
    Result<void> slept = co_await loop_.sleep(followed_.empty() ? kIdleEvery : kEvery, stop);
    CO_TRY(std::move(slept));
    std::map<NodeId, std::vector<model::MetricReport>> told;
    for (auto& [of, metrics] : followed_) {
      std::vector<model::MetricReport> reports = reports_of(of.attempt, metrics.look());
      std::vector<model::MetricReport>& all = told[of.node];
      all.insert(all.end(), std::make_move_iterator(reports.begin()),
                 std::make_move_iterator(reports.end()));
    }
    for (auto& [node, reports] : told) {
      if (!reports.empty()) tell_(node, std::move(reports));
    }
  }
}

}  // namespace runnel::agent
