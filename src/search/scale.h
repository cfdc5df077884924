#pragma once

#include <cstddef>
#include <vector>

#include "search/space.h"

namespace runnel::search {

// The values of a single axis as places in [0, 1]: logarithmic axes by their logarithm; integers,
// steps and categories in cells of equal width, a value in the middle of its own.

// How far neighbouring values are apart; 0 where all reals of the interval are possible.
double spacing_of(const Axis& axis);
// How many values are possible; 0 where they are not counted.
double count_of(const Axis& axis);
double unit_of(const Axis& axis, double value);
// Back, to a possible value; `unit` in [0, 1].
double value_of(const Axis& axis, double unit);
double nearest_value(const Axis& axis, double value);
// Whether the axis takes part, given the coordinates of its ancestors.
bool takes_part(const std::vector<Axis>& axes, const Point& point, std::size_t axis);

}  // namespace runnel::search
