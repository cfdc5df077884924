#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "brain/study.h"
#include "model/search_spec.h"

namespace runnel::control {

// The trials that no other is better than, ascending: the best one of a search for one thing; of
// several objectives the whole front. Those compared ended as the best one did: whole ones, or,
// while there are none, of those that were stopped the ones that came furthest. O(n log n), and a
// comparison of each trial with the front.
std::vector<std::int64_t> best_trials(const model::SearchSpec& search, const brain::Study& study);

// Whether the trial is one of them. At once for a search for one thing, and for a trial that goes
// on.
bool is_best_trial(const model::SearchSpec& search, const brain::Study& study, TaskIndex trial);

}  // namespace runnel::control
