#include "control/best_so_far.h"

#include <cstdint>

#include "brain/searcher.h"
#include "control/best_trials.h"

namespace runnel::control {

std::optional<TaskIndex> best_so_far(const model::SearchSpec& search, const brain::Step& step) {
  // Several objectives have a front, and none of its trials leads.
  if (has_best(step) || search.objectives.size() != 1) return std::nullopt;
  const brain::Study& study = *step.study;
  std::optional<TaskIndex> leader;
  std::int64_t furthest = 0;
  double least = 0;
  for (std::size_t at = 0; at < study.trials.size(); ++at) {
    const brain::Trial& trial = study.trials[at];
    const auto reports = trial.own_reports();
    if (trial.told == model::TrialEnd::kFailed || reports.empty()) continue;
    const brain::TrialReport& last = reports.back();
    if (leader && last.at < furthest) continue;
    const auto value = brain::comparable_value(search.objectives.front(), last.values.at(0));
    if (!value || (leader && last.at == furthest && *value >= least)) continue;
    leader = TaskIndex(static_cast<std::int64_t>(at));
    furthest = last.at;
    least = *value;
  }
  return leader;
}

}  // namespace runnel::control
