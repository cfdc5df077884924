#pragma once

#include <optional>

#include "base/ids.h"
#include "brain/state.h"
#include "model/spec.h"

namespace runnel::control {

// The trial that came furthest and is best there, of those that have not ended, while a search for
// one thing has no best trial. Nothing before one of them has reported a finite value.
std::optional<TaskIndex> best_so_far(const model::SearchSpec& search, const brain::Study& study);

}  // namespace runnel::control
