#pragma once

#include <cstdint>
#include <vector>

#include "search/space.h"

namespace runnel::search {

// A point near `from` (the explore step of Jaderberg et al., "Population Based Training of Neural
// Networks", arXiv 1711.09846, section 3): each parameter by itself is drawn anew with a chance of
// resample_percent, or else moved: a number by a fifth of itself up or down, at least to the next
// possible value, and not beyond its ends; a category to a neighbour in its list. What begins to
// take part is drawn, what takes no part is NaN. The key alone decides.
Point explored(const std::vector<Axis>& axes, const Point& from, std::int32_t resample_percent,
               std::uint64_t key);

}  // namespace runnel::search
