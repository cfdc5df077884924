#pragma once

#include <optional>

#include "base/ids.h"
#include "brain/state.h"
#include "model/spec.h"

namespace runnel::control {

// The trial that came furthest and is best there, of those that go on or were pruned, while a
// search for one thing has no best trial (best_trials.h). Nothing before one of them has reported a
// finite value.
std::optional<TaskIndex> best_so_far(const model::SearchSpec& search, const brain::Step& step);

}  // namespace runnel::control
