#pragma once

#include <cstddef>
#include <vector>

namespace runnel::search {

using Values = std::vector<double>;

// Whether a is nowhere worse than b and somewhere better; less is better.
bool dominates(const Values& a, const Values& b);

// The front that each belongs to: 0 is dominated by nobody, 1 by those of 0 only, and so on
// (Deb et al. 2002, section III A). O(n^2 objectives).
std::vector<std::size_t> fronts_of(const std::vector<Values>& all);

// How far each stands from its neighbours within its front, infinite at the ends of an objective;
// more is better (section III B).
std::vector<double> crowding_of(const std::vector<Values>& all,
                                const std::vector<std::size_t>& fronts);

}  // namespace runnel::search
