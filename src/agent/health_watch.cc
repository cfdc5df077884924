#include "agent/health_watch.h"

#include <algorithm>

#include "agent/log_index.h"
#include "agent/runner/folders.h"
#include "base/check.h"

namespace runnel::agent {
namespace {

using model::Ailment;

constexpr std::string_view kStepSeconds = "step_seconds";

bool is_number(std::string_view value) {
  return value != "nan" && value != "inf" && value != "-inf";
}

}  // namespace

HealthWatch::HealthWatch(async::EventLoop& loop, env::Clock& clock, std::string home, Tell tell)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      tell_(std::move(tell)),
      outputs_(home_),
      looked_at_(clock.boot()) {}

void HealthWatch::follow(const NodeId& node, const model::WatchOrder& order, Begun begun,
                         const std::vector<std::int32_t>& ended) {
  auto found = attempts_.find(order.attempt);
  if (found == attempts_.end()) {
    MetricsFile metrics(metrics_path(task_folder(home_, order.attempt.task)),
                        MetricsFile::Ranks::kAll);
    // All that is there is the first attempt's own.
    if (order.attempt.attempt > AttemptNumber(1)) metrics.skip();
    Attempt attempt{order.health, order.world_size, std::move(metrics), {}, {}, {}};
    found = attempts_.emplace(order.attempt, std::move(attempt)).first;
  }
  outputs_.follow(order.attempt,
                  begun == Begun::kYes ? RankOutputs::Begun::kMaybe : RankOutputs::Begun::kLater);
  for (std::int32_t i = 0; i < order.rank_count; ++i) {
    const std::int32_t rank = order.first_rank + i;
    if (std::find(ended.begin(), ended.end(), rank) != ended.end()) continue;
    Rank& entry = found->second.ranks.try_emplace(rank).first->second;
    entry.node = node;
    entry.runs = entry.runs || begun == Begun::kYes;
  }
}

void HealthWatch::begin(const AttemptOnNode& of) {
  const auto attempt = attempts_.find(of.attempt);
  if (attempt == attempts_.end()) return;
  for (auto& [number, rank] : attempt->second.ranks) {
    if (rank.node == of.node) rank.runs = true;
  }
}

HealthWatch::Found HealthWatch::end(const model::AttemptRef& ref, std::int32_t rank) {
  Found found;
  const auto attempt = attempts_.find(ref);
  if (attempt == attempts_.end()) return found;
  MetricsFile& metrics = attempt->second.metrics;
  const auto take = [&](const std::vector<MetricSample>& samples) {
    take_samples(ref, attempt->second, samples, found);
  };
  metrics.skip_to_last();
  if (attempt->second.ranks.size() == 1) {
    metrics.read_to_end(take);
  } else {
    metrics.read_whole_lines(take);
  }
  attempt->second.ranks.erase(rank);
  if (attempt->second.ranks.empty()) forget(ref);
  return found;
}

void HealthWatch::forget(const model::AttemptRef& attempt) {
  if (attempts_.erase(attempt) > 0) outputs_.forget(attempt);
}

void HealthWatch::forget_all() {
  for (const auto& [ref, attempt] : attempts_) outputs_.forget(ref);
  attempts_.clear();
}

void HealthWatch::add(Attempt& attempt, model::HealthReport report, Found& found) {
  const auto rank = attempt.ranks.find(report.rank);
  CHECK(rank != attempt.ranks.end(), "a rank is told of that is not looked at");
  attempt.told.insert(report.ailment);
  found.emplace_back(rank->second.node, std::move(report));
}

void HealthWatch::take_samples(const model::AttemptRef& ref, Attempt& attempt,
                               const std::vector<MetricSample>& samples, Found& found) {
  for (const MetricSample& sample : samples) {
    const auto rank = attempt.ranks.find(sample.rank);
    if (rank == attempt.ranks.end()) continue;  // Over, or of another machine.
    rank->second.heard = true;
    rank->second.step = sample.step;
    take_value(ref, attempt, sample, found);
    take_pace(attempt, sample);
  }
}

void HealthWatch::take_value(const model::AttemptRef& ref, Attempt& attempt,
                             const MetricSample& sample, Found& found) {
  if (!attempt.policy.nan || attempt.told.contains(Ailment::kNotFinite)) return;
  const std::string& wanted = attempt.policy.nan->metric;
  for (const auto& [name, value] : sample.values) {
    const bool meant = wanted.empty() ? name.size() <= model::kMetricNameMax : name == wanted;
    if (!meant || is_number(value)) continue;
    model::HealthReport report{ref, sample.rank, Ailment::kNotFinite, clock_.wall(), {}};
    report.step = sample.step;
    report.metric = name;
    report.value = value;
    return add(attempt, std::move(report), found);
  }
}

void HealthWatch::take_pace(Attempt& attempt, const MetricSample& sample) {
  if (!attempt.policy.straggler) return;
  std::optional<std::int64_t> own;
  for (const auto& [name, value] : sample.values) {
    if (name == kStepSeconds) own = step_micros(value);
  }
  attempt.paces.add(sample.rank, sample.step, own, clock_.boot());
}

// How long each rank has been silent.
void HealthWatch::listen(const model::AttemptRef& ref, Attempt& attempt, Duration passed) {
  if (!attempt.policy.hang) return;
  for (auto& [number, rank] : attempt.ranks) {
    if (!rank.runs) continue;
    const auto size = outputs_.size(ref, number);
    // What cannot be seen may be there.
    const bool unseen = !size || attempt.metrics.behind();
    const bool heard = std::exchange(rank.heard, unseen) || unseen;
    if (heard) {
      rank.silence = Duration();
    } else if (size->bytes != rank.bytes) {
      rank.silence = std::clamp(clock_.wall() - size->written_at, Duration(), passed);
    } else {
      rank.silence = rank.silence + passed;
    }
    if (size) rank.bytes = size->bytes;
  }
}

void HealthWatch::find_silent(const model::AttemptRef& ref, Attempt& attempt, Found& found) {
  if (!attempt.policy.hang || attempt.told.contains(Ailment::kHung)) return;
  const Duration after = attempt.policy.hang->after;
  std::vector<std::pair<std::int32_t, const Rank*>> silent;
  for (const auto& [number, rank] : attempt.ranks) {
    if (rank.runs && rank.silence + kEvery >= after) silent.emplace_back(number, &rank);
  }
  if (silent.empty()) return;
  const bool comparable = std::all_of(silent.begin(), silent.end(),
                                      [](const auto& each) { return each.second->step >= 0; });
  const auto behind = [&](const auto& a, const auto& b) {
    const bool differ = comparable && a.second->step != b.second->step;
    return differ ? a.second->step < b.second->step : a.second->silence > b.second->silence;
  };
  const auto& [number, rank] = *std::min_element(silent.begin(), silent.end(), behind);
  if (rank->silence < after) return;  // By the next look it is.
  model::HealthReport report{ref, number, Ailment::kHung, clock_.wall() - rank->silence,
                             rank->silence};
  report.step = rank->step;
  report.silent_others = static_cast<std::int32_t>(silent.size()) - 1;
  add(attempt, std::move(report), found);
}

void HealthWatch::find_slow(const model::AttemptRef& ref, Attempt& attempt, Found& found) {
  if (!attempt.policy.straggler || attempt.told.contains(Ailment::kSlow)) return;
  const auto slow =
      attempt.paces.slowest(attempt.world_size, attempt.policy.straggler->factor_permille);
  if (!slow || !attempt.ranks.contains(slow->rank)) return;
  model::HealthReport report{ref, slow->rank, Ailment::kSlow, clock_.wall(), {}};
  report.step = slow->step;
  report.took_micros = slow->took_micros;
  report.median_micros = slow->median_micros;
  report.steps = model::kSlowStepsMin;
  add(attempt, std::move(report), found);
}

HealthWatch::Found HealthWatch::look() {
  Found found;
  const Duration now = clock_.boot();
  CHECK(now >= looked_at_, "the time since boot goes back");
  const Duration passed = std::min(now - looked_at_, kGapMax);
  looked_at_ = now;
  outputs_.look();
  for (auto& [ref, attempt] : attempts_) {
    take_samples(ref, attempt, attempt.metrics.read(), found);
    listen(ref, attempt, passed);
    find_silent(ref, attempt, found);
    find_slow(ref, attempt, found);
  }
  return found;
}

Async<void> HealthWatch::run(async::StopToken stop) {
  while (true) {
    Result<void> slept = co_await loop_.sleep(kEvery, stop);
    CO_TRY(std::move(slept));
    for (auto& [node, report] : look()) tell_(node, std::move(report));
  }
}

}  // namespace runnel::agent
