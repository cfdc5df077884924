#include "control/best_trials.h"

#include <algorithm>

#include "brain/searcher.h"
#include "search/pareto.h"

namespace runnel::control {
namespace {

const brain::Trial& trial_at(const brain::Study& study, std::int64_t index) {
  return study.trials.at(static_cast<std::size_t>(index));
}

// Whether the two are compared by their values, since they ended alike and came equally far.
bool ended_like(const brain::Trial& trial, const brain::Trial& best) {
  if (trial.told != best.told || trial.own_reports().empty()) return false;
  return trial.told != model::TrialEnd::kPruned ||
         trial.own_reports().back().at == best.own_reports().back().at;
}

std::vector<std::int64_t> front_of(const model::SearchSpec& search, const brain::Study& study) {
  const brain::Trial& best = trial_at(study, study.best);
  std::vector<std::int64_t> compared;
  std::vector<search::Values> values;
  for (std::int64_t at = 0; at < std::ssize(study.trials); ++at) {
    const brain::Trial& trial = trial_at(study, at);
    if (!ended_like(trial, best)) continue;
    search::Values own = brain::values_of(search, trial.own_reports().back());
    if (own.empty()) continue;
    compared.push_back(at);
    values.push_back(std::move(own));
  }
  std::vector<std::int64_t> front;
  for (const std::size_t place : search::pareto_front(values)) front.push_back(compared[place]);
  return front;
}

}  // namespace

bool has_best(const brain::Step& step) {
  const brain::Study& study = *step.study;
  if (study.best < 0) return false;
  return model::is_end(step.status) ||
         trial_at(study, study.best).told == model::TrialEnd::kComplete;
}

std::vector<std::int64_t> best_trials(const model::SearchSpec& search, const brain::Step& step) {
  if (!has_best(step)) return {};
  const brain::Study& study = *step.study;
  if (search.objectives.size() == 1) return {study.best};
  return front_of(search, study);
}

bool is_best_trial(const model::SearchSpec& search, const brain::Step& step, TaskIndex trial) {
  if (!trial_at(*step.study, trial.value()).told) return false;
  const std::vector<std::int64_t> best = best_trials(search, step);
  return std::binary_search(best.begin(), best.end(), trial.value());
}

}  // namespace runnel::control
