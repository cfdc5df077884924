#pragma once

#include "base/result.h"
#include "brain/state.h"

namespace runnel::brain {

// Whether a state that was read could have come from folding events: each task of each step is in
// one place, live attempts and lanes know each other, what is named exists. kCorrupt naming what
// does not fit. apply() CHECKs all of this as it goes, so a state that passes never trips it.
Result<void> check_state(const State& state);

}  // namespace runnel::brain
