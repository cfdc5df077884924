#include "brain/searcher.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/split_mix.h"
#include "search/decimal.h"
#include "search/permutation.h"

namespace runnel::brain {
namespace {

std::uint64_t seed_of(const model::JobSpec& job, StepIndex step) {
  return search::derive(scramble(static_cast<std::uint64_t>(job.seed)),
                        static_cast<std::uint64_t>(step.value()));
}

// A search that learns from earlier trials draws others than the one that drew those, though the
// two have one seed: it would only try the same again.
std::uint64_t sampler_seed(const model::JobSpec& job, StepIndex step,
                           const std::vector<model::EarlierTrial>& from) {
  std::uint64_t seed = seed_of(job, step);
  const auto mix = [&seed](const std::string& text) {
    for (const char letter : text) seed = search::derive(seed, static_cast<unsigned char>(letter));
    seed = search::derive(seed, text.size());
  };
  for (const model::EarlierTrial& trial : from) {
    for (const auto& [name, value] : trial.params) mix(value);
    for (const std::string& value : trial.values) mix(value);
  }
  return seed;
}

std::unique_ptr<search::Pruner> pruner_of(const model::StepSpec& step) {
  if (!step.search->pruner) return nullptr;
  return search::make_pruner(*step.search->pruner, step.checkpoint.has_value());
}

search::Outcome::Kind kind_of(model::TrialEnd end) {
  switch (end) {
    case model::TrialEnd::kComplete: return search::Outcome::Kind::kComplete;
    case model::TrialEnd::kPruned: return search::Outcome::Kind::kPruned;
    case model::TrialEnd::kFailed: return search::Outcome::Kind::kFailed;
  }
  CHECK(false, "a trial ended in no known way");
  return search::Outcome::Kind::kFailed;
}

}  // namespace

std::optional<double> comparable_value(const model::Objective& objective, const std::string& text) {
  const std::optional<double> value = search::parsed<double>(text);
  if (!value || !std::isfinite(*value)) return std::nullopt;
  return objective.maximize ? -*value : *value;
}

std::vector<double> values_of(const model::SearchSpec& search, const TrialReport& report) {
  std::vector<double> values;
  for (std::size_t i = 0; i < search.objectives.size(); ++i) {
    const std::optional<double> value = comparable_value(search.objectives[i], report.values.at(i));
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

Searcher::Searcher(std::shared_ptr<const model::JobSpec> job, StepIndex step)
    : job_(std::move(job)),
      spec_(job_->steps.at(static_cast<std::size_t>(step.value()))),
      space_(spec_.params),
      sampler_(search::make_sampler(
          {&*spec_.search, &space_, sampler_seed(*job_, step, spec_.search->from)})),
      pruner_(pruner_of(spec_)) {
  const auto& population = spec_.search->population;
  if (population) population_.emplace(*population, space_.axes(), seed_of(*job_, step));
  tell_earlier();
}

// They are the sampler's first trials, and the study's follow. A grid has no use for them: a
// number there is a place in the grid.
void Searcher::tell_earlier() {
  const model::SearchSpec::Method method = search::chosen_method(*spec_.search, space_);
  if (method == model::SearchSpec::Method::kGrid) return;
  for (const model::EarlierTrial& trial : spec_.search->from) {
    const Result<search::Point> point = space_.point(trial.params);
    const std::vector<double> values = values_of(*spec_.search, {0, trial.values});
    if (!point.ok() || values.empty()) continue;
    sampler_->asked(earlier_, *point);
    sampler_->told(earlier_++, {.values = values});
  }
}

void Searcher::catch_up(const Study& study) {
  CHECK(told_ <= study.history.size(), "a searcher was told more than its study has");
  for (; told_ < study.history.size(); ++told_) {
    const auto& [what, number] = study.history[told_];
    const Trial& trial = study.trials.at(static_cast<std::size_t>(number));
    switch (what) {
      case Study::Moment::What::kAsked: tell_asked(trial, number); break;
      case Study::Moment::What::kReported: tell_reported(trial, number); break;
      case Study::Moment::What::kPromoted: tell_promoted(number); break;
      case Study::Moment::What::kMoved: tell_moved(trial, number); break;
      case Study::Moment::What::kTold: tell_told(trial, number); break;
    }
  }
}

// The pruner's verdict on its last report holds no longer.
void Searcher::tell_promoted(std::int64_t number) {
  if (pruner_) pruner_->promoted(number);
  verdicts_.erase(number);
}

// Its parameters were those that its first move left.
void Searcher::tell_asked(const Trial& trial, std::int64_t number) {
  const auto& params = trial.moves.empty() ? trial.params : trial.moves.front().left;
  Result<search::Point> point = space_.point(params);
  CHECK(point.ok(), "a trial was asked for with parameters outside of its space");
  sampler_->asked(earlier_ + number, *point);
  if (population_) population_->moved(number, *std::move(point));
}

void Searcher::tell_moved(const Trial& trial, std::int64_t number) {
  CHECK(population_.has_value(), "a trial of no population has moved");
  const std::size_t seen = ++moves_seen_[number];
  const auto& params = seen < trial.moves.size() ? trial.moves[seen].left : trial.params;
  Result<search::Point> point = space_.point(params);
  CHECK(point.ok(), "a member has moved outside of its space");
  population_->moved(number, *std::move(point));
  exploits_.erase(number);
  furthest_.erase(number);
}

// The pruner hears of the reports that it asked for; the last report of an attempt may be another.
void Searcher::tell_reported(const Trial& trial, std::int64_t number) {
  std::size_t& seen = reports_seen_[number];
  const TrialReport& report = trial.reports.at(seen++);
  verdicts_[number] = search::Verdict::kGoOn;
  const std::optional<std::int64_t> next = next_judged(number);
  const auto [furthest, first] = furthest_.try_emplace(number, report.at);
  if (!first) furthest->second = std::max(furthest->second, report.at);
  if (next && report.at >= *next) judge(report, number);
}

// A loss that is no number will not become one: it is the worst there is.
void Searcher::judge(const TrialReport& report, std::int64_t number) {
  const std::vector<double> values = values_of(*spec_.search, report);
  if (population_) {
    const double value = values.empty() ? std::numeric_limits<double>::max() : values.front();
    exploits_.erase(number);
    auto exploit = population_->reported(number, report.at, value);
    if (exploit) exploits_[number] = *std::move(exploit);
    return;
  }
  verdicts_[number] = values.empty() ? search::Verdict::kStop
                                     : pruner_->reported(number, report.at, values.front());
}

void Searcher::tell_told(const Trial& trial, std::int64_t number) {
  search::Outcome outcome;
  outcome.kind = kind_of(*trial.told);
  const auto reports = trial.own_reports();
  if (outcome.kind != search::Outcome::Kind::kFailed && !reports.empty()) {
    outcome.step = reports.back().at;
    outcome.values = values_of(*spec_.search, reports.back());
  }
  if (pruner_) pruner_->ended(number);
  if (population_) population_->ended(number);
  sampler_->told(earlier_ + number, outcome);
  reports_seen_.erase(number);
  furthest_.erase(number);
  moves_seen_.erase(number);
  verdicts_.erase(number);
  exploits_.erase(number);
}

search::Texts Searcher::suggest(const Study& study) {
  const auto number = study.trials.size();
  const auto& start = spec_.search->start;
  search::Point point = sampler_->suggest(earlier_ + static_cast<std::int64_t>(number));
  if (number >= start.size()) return space_.texts(point);
  Result<search::Point> wanted = space_.partial_point(start[number]);
  CHECK(wanted.ok(), "a checked search starts outside of its space");
  for (std::size_t axis = 0; axis < point.size(); ++axis) {
    if (!std::isnan((*wanted)[axis])) point[axis] = (*wanted)[axis];
  }
  return space_.texts(space_.repaired(std::move(point)));
}

std::optional<std::int64_t> Searcher::next_judged(std::int64_t trial) const {
  const auto furthest = furthest_.find(trial);
  const std::int64_t step = furthest == furthest_.end() ? -1 : furthest->second;
  if (population_) return population_->next_step(trial, step);
  return pruner_ ? pruner_->next_step(trial, step) : std::nullopt;
}

search::Verdict Searcher::verdict(std::int64_t trial) const {
  const auto found = verdicts_.find(trial);
  return found == verdicts_.end() ? search::Verdict::kGoOn : found->second;
}

std::optional<Searcher::Move> Searcher::move(std::int64_t trial) const {
  const auto found = exploits_.find(trial);
  if (found == exploits_.end()) return std::nullopt;
  return Move{found->second.donor, space_.texts(found->second.point)};
}

std::optional<std::int64_t> Searcher::leader() const {
  return pruner_ ? pruner_->leader() : std::nullopt;
}

std::optional<std::int64_t> Searcher::promotable() const {
  return pruner_ ? pruner_->promotable() : std::nullopt;
}

}  // namespace runnel::brain
