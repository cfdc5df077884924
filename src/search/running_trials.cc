#include "search/running_trials.h"

#include <ranges>
#include <utility>

#include "base/check.h"

namespace runnel::search {

void RunningTrials::add(std::int64_t number, UnitPoint units) {
  const bool is_new = trials_.emplace(number, std::move(units)).second;
  CHECK(is_new, "a trial is asked twice");
}

UnitPoint RunningTrials::take(std::int64_t number) {
  auto trial = trials_.extract(number);
  CHECK(!trial.empty(), "told of a trial that does not run");
  return std::move(trial.mapped());
}

std::vector<const UnitPoint*> RunningTrials::latest(std::size_t most) const {
  std::vector<const UnitPoint*> found;
  for (const auto& [number, units] : std::views::reverse(trials_)) {
    if (found.size() == most) break;
    found.push_back(&units);
  }
  return found;
}

}  // namespace runnel::search
