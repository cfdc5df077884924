#include "search/unit_point.h"

#include <cmath>

#include "search/permutation.h"

namespace runnel::search {
namespace {

// The coordinate below which `share` of the axis lies.
double coordinate_at(const Space& space, std::size_t axis, double share) {
  if (space.axes()[axis].kind != Axis::Kind::kCategorical) return space.from_unit(axis, share);
  return std::floor(share * space.cells(axis));
}

}  // namespace

UnitPoint to_units(const Space& space, const Point& point) {
  UnitPoint units = point;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    if (space.axes()[axis].kind == Axis::Kind::kCategorical || std::isnan(point[axis])) continue;
    units[axis] = space.to_unit(axis, point[axis]);
  }
  return units;
}

Point from_units(const Space& space, const UnitPoint& units) {
  Point point = units;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    if (space.axes()[axis].kind == Axis::Kind::kCategorical || std::isnan(units[axis])) continue;
    point[axis] = space.from_unit(axis, units[axis]);
  }
  return space.repaired(std::move(point));
}

Point random_point(const Space& space, RandomStream& stream) {
  Point point;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    point.push_back(coordinate_at(space, axis, stream.uniform()));
  }
  return space.repaired(std::move(point));
}

Point spread_point(const Space& space, std::uint64_t key, std::int64_t number, std::int64_t count) {
  const auto slices = static_cast<std::uint64_t>(count);
  const auto row = static_cast<std::uint64_t>(number);
  RandomStream inside(derive(key, row));
  Point point;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    const std::uint64_t order = derive(derive(key, row / slices), axis);
    const auto slice = static_cast<double>(permute(row % slices, slices, order));
    const double share = (slice + inside.uniform()) / static_cast<double>(slices);
    point.push_back(coordinate_at(space, axis, share));
  }
  return space.repaired(std::move(point));
}

}  // namespace runnel::search
