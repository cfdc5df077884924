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
  const auto source = std::make_shared<Source>(Source{std::move(plan), output_from, nullptr});
  source->metrics = metrics_of(of, *source);
  followed_.emplace(of, source);
}

std::shared_ptr<output::AttemptMetrics> MetricsWatch::metrics_of(const runner::AttemptOnNode& of,
                                                                 const Source& source) const {
  return std::make_shared<output::AttemptMetrics>(home_, of.attempt, source.plan,
                                                  source.output_from);
}

Async<MetricsWatch::Reports> MetricsWatch::finish(std::vector<runner::AttemptOnNode> ended,
                                                  Duration patience, async::StopToken stop) {
  std::map<JobId, std::vector<Followed>> left;
  for (const runner::AttemptOnNode& of : ended) {
    const auto found = followed_.find(of);
    if (found != followed_.end()) left[of.attempt.task.job].emplace_back(*found);
  }
  Reports reports;
  std::vector<Followed> done;
  for (const Duration until = clock_.boot() + patience; !left.empty();) {
    for (auto job = left.begin(); job != left.end();) {
      Result<Reports> found = co_await read(job->first, job->second, end_of);
      if (found.ok()) {
        reports.merge(*found);
        done.insert(done.end(), job->second.begin(), job->second.end());
      }
      job = found.ok() ? left.erase(job) : std::next(job);
    }
    if (left.empty() || clock_.boot() >= until) break;
    CO_TRY(co_await loop_.sleep(kAskAgain, stop));
  }
  drop(done);
  for (const auto& [job, unread] : left) drop(unread);
  co_return reports;
}

void MetricsWatch::drop(const std::vector<Followed>& followed) {
  for (const Followed& each : followed) {
    if (is_followed(each)) followed_.erase(each.first);
  }
}

Async<MetricsWatch::Reports> MetricsWatch::read(JobId job, std::vector<Followed> followed,
                                                Look look) {
  std::vector<Readable> readable;
  readable.reserve(followed.size());
  for (const auto& [of, source] : followed) readable.emplace_back(of, source->metrics);
  Result<Reports> found = co_await reads_.run<Reports>(
      output::job_folder(home_, job), [look, readable] { return Result<Reports>(look(readable)); });
  const bool stands_still = !found.ok() && found.error().code == Errc::kUnavailable;
  bool began_anew = false;  // Another read of these files stood still while this one waited.
  for (std::size_t index = 0; index < followed.size(); ++index) {
    Source& source = *followed[index].second;
    began_anew = began_anew || source.metrics != readable[index].second;
    if (stands_still && source.metrics == readable[index].second) {
      source.metrics = metrics_of(followed[index].first, source);
    }
  }
  if (found.ok() && began_anew) co_return Error(Errc::kUnavailable, "it is read anew");
  co_return found;
}

MetricsWatch::Reports MetricsWatch::end_of(const std::vector<Readable>& all) {
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

MetricsWatch::Reports MetricsWatch::look_at(const std::vector<Readable>& all) {
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

// What was found of a job is told before the next job is looked at: whoever ends meanwhile is not
// followed any more.
Async<void> MetricsWatch::look_at_all() {
  std::map<JobId, std::vector<Followed>> by_job;
  for (const auto& each : followed_) by_job[each.first.attempt.task.job].emplace_back(each);
  for (auto& [job, followed] : by_job) {
    std::erase_if(followed, [this](const Followed& each) { return !is_followed(each); });
    Result<Reports> found = co_await read(job, followed, look_at);
    if (!found.ok()) continue;
    for (const Followed& each : followed) {
      if (!is_followed(each)) found->erase(each.first);
    }
    tell(*std::move(found));
  }
  co_return {};
}

Async<void> MetricsWatch::run(async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.sleep(followed_.empty() ? kIdleEvery : kEvery, stop));
    if (!followed_.empty() && !paused_) CO_TRY(co_await look_at_all());
  }
}

}  // namespace runnel::agent
