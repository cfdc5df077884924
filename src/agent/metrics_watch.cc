#include "agent/metrics_watch.h"

#include <optional>
#include <utility>

#include "base/check.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

model::MetricReport report_of(const model::AttemptRef& attempt, model::MetricSample sample) {
  return {attempt, sample.step, std::move(sample.values), false};
}

std::vector<model::MetricReport> reports_of(const model::AttemptRef& attempt,
                                            std::vector<model::MetricSample> samples) {
  std::vector<model::MetricReport> reports;
  const std::size_t every = samples.size() / MetricsWatch::kReportsMax + 1;
  // From the back, so that the newest is among them.
  for (std::size_t i = (samples.size() + every - 1) % every; i < samples.size(); i += every) {
    reports.push_back(report_of(attempt, std::move(samples[i])));
  }
  return reports;
}

}  // namespace

MetricsWatch::MetricsWatch(async::EventLoop& loop, env::Clock& clock, std::string home, Tell tell,
                           Duration silent_max)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      tell_(std::move(tell)),
      reads_(loop, clock, "agent-metrics", silent_max) {}

void MetricsWatch::follow(const runner::AttemptOnNode& of, output::MetricPlanPtr plan,
                          std::int64_t output_from) {
  CHECK(output_from >= 0, "output is found before the index begins");
  if (followed_.contains(of)) return;
  followed_[of] =
      std::make_shared<output::AttemptMetrics>(home_, of.attempt, std::move(plan), output_from);
}

Async<MetricsWatch::Reports> MetricsWatch::finish(std::vector<runner::AttemptOnNode> ended,
                                                  Duration patience, async::StopToken stop) {
  std::vector<Followed> done;
  ByJob left;
  for (const runner::AttemptOnNode& of : ended) {
    const auto found = followed_.find(of);
    if (found == followed_.end()) continue;
    done.emplace_back(*found);
    left[of.attempt.task.job].emplace_back(*found);
  }
  Reports reports;
  for (const Duration until = clock_.boot() + patience; !left.empty();) {
    reports.merge(CO_TRY(co_await read(left, end_of)));
    if (left.empty() || clock_.boot() >= until) break;
    CO_TRY(co_await loop_.sleep(kAskAgain, stop));
  }
  for (const Followed& each : done) {
    if (is_followed(each)) followed_.erase(each.first);
  }
  co_return reports;
}

Async<MetricsWatch::Reports> MetricsWatch::read(ByJob& all, Look look) {
  Reports found;
  for (auto of_job = all.begin(); of_job != all.end();) {
    Result<Reports> read = co_await reads_.run<Reports>(
        output::job_folder(home_, of_job->first),
        [look, followed = of_job->second] { return Result<Reports>(look(followed)); });
    of_job = read.ok() ? all.erase(of_job) : std::next(of_job);
    if (read.ok()) found.merge(*read);
  }
  co_return found;
}

MetricsWatch::Reports MetricsWatch::end_of(const std::vector<Followed>& all) {
  Reports reports;
  for (const auto& [of, metrics] : all) {
    reports[of] = reports_of(of.attempt, metrics->finish());
    const std::optional<model::MetricSample> latest = metrics->latest();
    if (!latest && metrics->bad_lines() == 0) continue;
    model::MetricReport& last =
        reports[of].emplace_back(report_of(of.attempt, latest.value_or(model::MetricSample())));
    last.last = true;
    last.bad_lines = metrics->bad_lines();
  }
  return reports;
}

MetricsWatch::Reports MetricsWatch::look_at(const std::vector<Followed>& all) {
  Reports reports;
  for (const auto& [of, metrics] : all) {
    std::vector<model::MetricReport> found = reports_of(of.attempt, metrics->look());
    if (!found.empty()) reports[of] = std::move(found);
  }
  return reports;
}

bool MetricsWatch::is_followed(const Followed& each) const {
  const auto found = followed_.find(each.first);
  return found != followed_.end() && found->second == each.second;
}

void MetricsWatch::tell(Reports reports) {
  std::map<NodeId, std::vector<model::MetricReport>> told;
  for (auto& [of, found] : reports) {
    std::vector<model::MetricReport>& all = told[of.node];
    all.insert(all.end(), std::make_move_iterator(found.begin()),
               std::make_move_iterator(found.end()));
  }
  for (auto& [node, all] : told) tell_(node, std::move(all));
}

Async<void> MetricsWatch::run(async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.sleep(followed_.empty() ? kIdleEvery : kEvery, stop));
    if (followed_.empty() || paused_) continue;
    const std::vector<Followed> all(followed_.begin(), followed_.end());
    ByJob by_job;
    for (const Followed& each : all) by_job[each.first.attempt.task.job].push_back(each);
    Reports reports = CO_TRY(co_await read(by_job, look_at));
    for (const Followed& each : all) {
      if (!is_followed(each)) reports.erase(each.first);
    }
    tell(std::move(reports));
  }
}

}  // namespace runnel::agent
