#include "agent/health_watch.h"

#include <algorithm>

#include "base/check.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

using model::HealthProblem;

constexpr std::string_view kStepSeconds = "step_seconds";

}  // namespace

HealthWatch::HealthWatch(async::EventLoop& loop, env::Clock& clock, std::string home, Tell tell,
                         Duration silent_max)
    : loop_(loop),
      clock_(clock),
      home_(std::move(home)),
      tell_(std::move(tell)),
      reads_(loop, clock, "agent-health", silent_max),
      looked_at_(clock.boot()) {}

void HealthWatch::follow(const NodeId& node, const model::WatchOrder& order, Begun begun,
                         const std::vector<std::int32_t>& ended) {
  CHECK(order.rank_count >= 1 && order.first_rank >= 0, "nobody is to be watched");
  const auto found = attempts_.try_emplace(order.attempt).first;
  Attempt& attempt = found->second;
  auto& files = files_[order.attempt.task.job];
  if (files == nullptr) files = std::make_shared<HealthFiles>(home_);
  attempt.policy = order.health;
  attempt.world_size = order.world_size;
  if (begun == Begun::kYes) attempt.begun = output::RankOutputs::Begun::kMaybe;
  for (std::int32_t i = 0; i < order.rank_count; ++i) {
    const std::int32_t rank = order.first_rank + i;
    if (std::find(ended.begin(), ended.end(), rank) != ended.end()) continue;
    Rank& entry = attempt.ranks.try_emplace(rank).first->second;
    entry.node = node;
    entry.runs = entry.runs || begun == Begun::kYes;
  }
}

void HealthWatch::begin(const runner::AttemptOnNode& of) {
  const auto attempt = attempts_.find(of.attempt);
  if (attempt == attempts_.end()) return;
  for (auto& [number, rank] : attempt->second.ranks) {
    if (rank.node == of.node) rank.runs = true;
  }
}

template <typename T>
Async<std::optional<T>> HealthWatch::read(JobId job, std::function<T(HealthFiles&)> what) {
  const auto begun = files_.find(job);
  if (begun == files_.end()) co_return std::optional<T>();  // Forgotten meanwhile.
  Result<T> got = co_await reads_.run<T>(
      output::job_folder(home_, job),
      [files = begun->second, what = std::move(what)] { return Result<T>(what(*files)); });
  if (got.ok()) co_return std::optional<T>(*std::move(got));
  const auto hanging = files_.find(job);  // A thread that hangs has them.
  if (got.error().code == Errc::kUnavailable && hanging != files_.end()) {
    hanging->second = std::make_shared<HealthFiles>(home_);
  }
  co_return std::optional<T>();
}

bool HealthWatch::has_last_words(const model::AttemptRef& attempt) const {
  const auto found = attempts_.find(attempt);
  return found != attempts_.end() && found->second.policy.nan &&
         !found->second.told.contains(HealthProblem::kNotFinite);
}

Async<HealthWatch::Found> HealthWatch::finish(std::vector<EndedRank> ended) {
  Found found;
  for (const EndedRank& each : ended) {
    const auto before = attempts_.find(each.attempt);
    if (before == attempts_.end()) continue;
    if (!has_last_words(each.attempt)) {
      end(each);
      continue;
    }
    const bool whole = before->second.ranks.size() == 1;
    const std::optional<std::vector<model::MetricSample>> samples =
        CO_TRY(co_await read<std::vector<model::MetricSample>>(
            each.attempt.task.job,
            [attempt = each.attempt, metric = before->second.policy.nan->metric,
             end = whole ? HealthFiles::End::kWhole : HealthFiles::End::kOfSome](
                HealthFiles& files) { return files.rest(attempt, end, metric); }));
    const auto after = attempts_.find(each.attempt);
    if (samples && after != attempts_.end()) {
      take_samples(each.attempt, after->second, *samples, found);
    }
    end(each);
  }
  co_return found;
}

void HealthWatch::end(const EndedRank& ended) {
  const auto attempt = attempts_.find(ended.attempt);
  if (attempt == attempts_.end()) return;
  attempt->second.ranks.erase(ended.rank);
  if (attempt->second.ranks.empty()) forget(ended.attempt);
}

void HealthWatch::forget(const model::AttemptRef& attempt) {
  if (attempts_.erase(attempt) == 0) return;
  const JobId& job = attempt.task.job;
  const auto next = attempts_.lower_bound({{job, StepIndex(), TaskIndex()}, AttemptNumber()});
  if (next == attempts_.end() || next->first.task.job != job) files_.erase(job);
}

void HealthWatch::forget_all() {
  attempts_.clear();
  files_.clear();
}

void HealthWatch::add(Attempt& attempt, model::HealthReport report, Found& found) {
  const auto rank = attempt.ranks.find(report.rank);
  CHECK(rank != attempt.ranks.end(), "a rank is told of that is not looked at");
  attempt.told.insert(report.problem);
  found.emplace_back(rank->second.node, std::move(report));
}

void HealthWatch::take_samples(const model::AttemptRef& ref, Attempt& attempt,
                               const std::vector<model::MetricSample>& samples, Found& found) {
  for (const model::MetricSample& sample : samples) {
    const auto rank = attempt.ranks.find(sample.rank);
    if (rank == attempt.ranks.end()) continue;  // Over, or of another machine.
    rank->second.heard = true;
    rank->second.step = sample.step;
    take_value(ref, attempt, sample, found);
    take_pace(attempt, sample);
  }
}

void HealthWatch::take_value(const model::AttemptRef& ref, Attempt& attempt,
                             const model::MetricSample& sample, Found& found) {
  if (!attempt.policy.nan || attempt.told.contains(HealthProblem::kNotFinite)) return;
  const std::string& wanted = attempt.policy.nan->metric;
  for (const auto& [name, value] : sample.values) {
    if (!model::is_unhealthy(name, value, wanted)) continue;
    model::HealthReport report{ref, sample.rank, HealthProblem::kNotFinite, clock_.wall(), {}};
    report.step = sample.step;
    report.metric = name;
    report.value = value;
    return add(attempt, std::move(report), found);
  }
}

void HealthWatch::take_pace(Attempt& attempt, const model::MetricSample& sample) {
  if (!attempt.policy.straggler) return;
  std::optional<Micros> own;
  for (const auto& [name, value] : sample.values) {
    if (name == kStepSeconds) own = step_time(value);
  }
  attempt.paces.add(sample.rank, sample.step, own, clock_.boot());
}

// How long each rank has been silent.
void HealthWatch::listen(Attempt& attempt, const HealthFiles::Seen& seen, Duration passed) {
  if (!attempt.policy.hang) return;
  for (auto& [number, rank] : attempt.ranks) {
    if (!rank.runs) continue;
    const auto size = seen.sizes.find(number);
    const bool is_sized = size != seen.sizes.end();
    // Signs of life that cannot be seen may be there.
    const bool unseen = !is_sized || seen.behind;
    const bool heard = std::exchange(rank.heard, unseen) || unseen;
    if (heard) {
      rank.silence = Duration();
    } else if (size->second.bytes != rank.bytes) {
      rank.silence = std::clamp(clock_.wall() - size->second.written_at, Duration(), passed);
    } else {
      rank.silence = rank.silence + passed;
    }
    if (is_sized) rank.bytes = size->second.bytes;
  }
}

void HealthWatch::find_silent(const model::AttemptRef& ref, Attempt& attempt, Found& found) {
  if (!attempt.policy.hang || attempt.told.contains(HealthProblem::kHung)) return;
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
  model::HealthReport report{ref, number, HealthProblem::kHung, clock_.wall() - rank->silence,
                             rank->silence};
  report.step = rank->step;
  report.silent_others = static_cast<std::int32_t>(silent.size()) - 1;
  add(attempt, std::move(report), found);
}

void HealthWatch::find_slow(const model::AttemptRef& ref, Attempt& attempt, Found& found) {
  if (!attempt.policy.straggler || attempt.told.contains(HealthProblem::kSlow)) return;
  const auto slow =
      attempt.paces.slowest(attempt.world_size, attempt.policy.straggler->factor_permille);
  if (!slow || !attempt.ranks.contains(slow->rank)) return;
  model::HealthReport report{ref, slow->rank, HealthProblem::kSlow, clock_.wall(), {}};
  report.step = slow->step;
  report.took = slow->took;
  report.median = slow->median;
  report.steps = model::kSlowStepsMin;
  add(attempt, std::move(report), found);
}

std::map<JobId, HealthFiles::Attempts> HealthWatch::asked() const {
  std::map<JobId, HealthFiles::Attempts> asked;
  for (const auto& [ref, attempt] : attempts_) {
    HealthFiles::Asked& one = asked[ref.task.job][ref];
    one.begun = attempt.begun;
    if (!attempt.policy.hang) continue;
    for (const auto& [number, rank] : attempt.ranks) one.sized.push_back(number);
  }
  return asked;
}

// `seen` is null where nothing could be seen.
void HealthWatch::judge(const model::AttemptRef& ref, const HealthFiles::Seen* seen,
                        Duration passed, Found& found) {
  const auto entry = attempts_.find(ref);
  if (entry == attempts_.end()) return;  // It was forgotten meanwhile.
  Attempt& attempt = entry->second;
  const HealthFiles::Seen nothing;
  if (seen != nullptr) take_samples(ref, attempt, seen->samples, found);
  listen(attempt, seen != nullptr ? *seen : nothing, passed);
  find_silent(ref, attempt, found);
  find_slow(ref, attempt, found);
}

Async<HealthWatch::Found> HealthWatch::look() {
  Found found;
  const Duration now = clock_.boot();
  CHECK(now >= looked_at_, "the time since boot goes back");
  const Duration passed = std::min(now - looked_at_, kGapMax);
  looked_at_ = now;
  using Looks = std::map<model::AttemptRef, HealthFiles::Seen>;
  for (const auto& [job, attempts] : asked()) {
    const std::optional<Looks> looks = CO_TRY(
        co_await read<Looks>(job, [attempts](HealthFiles& files) { return files.look(attempts); }));
    for (const auto& [ref, how] : attempts) {
      judge(ref, looks ? &looks->at(ref) : nullptr, passed, found);
    }
  }
  co_return found;
}

Async<void> HealthWatch::run(async::StopToken stop) {
  while (true) {
    CO_TRY(co_await loop_.sleep(kEvery, stop));
    const Found found = CO_TRY(co_await look());
    for (const auto& [node, report] : found) tell_(node, report);
  }
}

}  // namespace runnel::agent
