#pragma once

#include <cstdint>

#include "search/random_stream.h"
#include "search/space.h"

namespace runnel::search {

// A point on the scales of Space::to_unit(): every range and interval is [0, 1], choices stay
// positions, NaN stays NaN.
using UnitPoint = Point;

UnitPoint to_units(const Space& space, const Point& point);
// The nearest possible point; coordinates that take no part become NaN, whatever they were.
Point from_units(const Space& space, const UnitPoint& units);

// Each coordinate by itself: all values of a choice or a range alike, intervals evenly on their
// scale.
Point random_point(const Space& space, RandomStream& stream);

// Point `number` of a row in which every `count` points, from a multiple of `count` on, are a Latin
// hypercube: each of `count` equal slices of an axis is met once (McKay, Beckman, Conover, "A
// comparison of three methods for selecting values of input variables", Technometrics 1979).
Point spread_point(const Space& space, std::uint64_t key, std::int64_t number, std::int64_t count);

}  // namespace runnel::search
