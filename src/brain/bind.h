#pragma once

#include <cstdint>

#include "brain/turn.h"

namespace runnel::brain {

// Gives the lane the step's next `count` tasks: those with a history first, in order of their
// back-offs, then fresh ones. Something must wait.
void bind(Turn& turn, LaneId lane, const StepKey& key, std::int64_t count);

}  // namespace runnel::brain
