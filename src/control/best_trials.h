#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "brain/state.h"
#include "model/search_spec.h"

namespace runnel::control {

// Whether the search, which is the step's, has a best trial: a whole one, or when it has ended any
// that gave a value. Before that a trial that was pruned may be worse than those that go on.
bool has_best(const brain::Step& step);

// The trials that no other is better than, ascending: the best one of a search for one thing; of
// several objectives the whole front. Those compared ended as the best one did: whole ones, or,
// where there are none in the end, of those that were pruned the ones that came furthest. O(n log
// n), and a comparison of each trial with the front.
std::vector<std::int64_t> best_trials(const model::SearchSpec& search, const brain::Step& step);

// Whether the trial is one of them. At once for a search for one thing, and for a trial that goes
// on.
bool is_best_trial(const model::SearchSpec& search, const brain::Step& step, TaskIndex trial);

}  // namespace runnel::control
