#pragma once

#include <optional>

#include "base/ids.h"
#include "brain/state.h"
#include "model/spec.h"

namespace runnel::control {

// While a search for one thing has no best trial: of its trials that have not ended the one that
// came furthest and is best there. Nothing before one of them has reported a finite value.
std::optional<TaskIndex> best_so_far(const model::SearchSpec& search, const brain::Study& study);

}  // namespace runnel::control
