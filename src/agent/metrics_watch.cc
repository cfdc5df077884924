#include "agent/metrics_watch.h"

#include <utility>

#include "agent/log_index.h"
#include "agent/runner/folders.h"

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

void MetricsWatch::follow(const AttemptOnNode& of) {
  files_.try_emplace(of, metrics_path(task_folder(home_, of.attempt.task)));
}

std::vector<model::MetricReport> MetricsWatch::finish(const AttemptOnNode& of) {
  const auto found = files_.find(of);
  if (found == files_.end()) return {};
  MetricsFile& file = found->second;
  std::vector<model::MetricReport> reports = reports_of(of.attempt, file.read_to_end());
  if (!file.empty()) {
    reports.push_back(report_of(of.attempt, file.latest()));
    reports.back().last = true;
  }
  files_.erase(found);
  return reports;
}

Async<void> MetricsWatch::run(async::StopToken stop) {
  while (true) {
    Result<void> slept = co_await loop_.sleep(files_.empty() ? kIdleEvery : kEvery, stop);
    CO_TRY(std::move(slept));
    std::map<NodeId, std::vector<model::MetricReport>> told;
    for (auto& [of, file] : files_) {
      std::vector<model::MetricReport> reports = reports_of(of.attempt, file.read());
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
