#pragma once

#include "brain/turn.h"

namespace runnel::brain {

// So many trials that all fail alike, before any has reported: the rest would fail as well.
inline constexpr std::int64_t kAlikeFailures = 5;

// Gives a search up whose trials fail: by its max_failures, or, without one, when the first of them
// all failed alike. It asks for nothing more; what runs comes to its end.
void give_up_search(Turn& turn, const StepKey& key);

}  // namespace runnel::brain
