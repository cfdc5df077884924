#pragma once

#include <algorithm>

#include "brain/state.h"

namespace runnel::sim {

// Whether the predicate holds for a task with something to remember, of any job.
template <typename Predicate>
bool any_task(const brain::State& state, Predicate holds) {
  const auto of_step = [&](const brain::Step& step) {
    return std::any_of(step.tasks.begin(), step.tasks.end(),
                       [&](const auto& entry) { return holds(entry.second); });
  };
  return std::any_of(state.jobs.begin(), state.jobs.end(), [&](const auto& entry) {
    return std::any_of(entry.second.steps.begin(), entry.second.steps.end(), of_step);
  });
}

}  // namespace runnel::sim
