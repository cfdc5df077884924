#include "search/grid_sampler.h"

#include <algorithm>
#include <limits>
#include <ranges>
#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::search {
namespace {

constexpr double kGridPointsMax = 0x1p53;
constexpr double kLeftOut = std::numeric_limits<double>::quiet_NaN();

// Counts the points of a space and finds the one at a position. An axis and all that hang on it are
// a tree; the trees below one value of an axis, like those at the top, vary independently.
class Grid {
 public:
  explicit Grid(const Space& space) : space_(space) {}

  double points() const { return combinations(roots()); }

  Point at(std::int64_t position) const {
    Point point(space_.size(), kLeftOut);
    place(roots(), position, point);
    return space_.repaired(std::move(point));
  }

 private:
  using Axes = std::vector<std::size_t>;

  Axes roots() const {
    Axes found;
    for (std::size_t axis = 0; axis < space_.size(); ++axis) {
      if (!space_.axes()[axis].parent) found.push_back(axis);
    }
    return found;
  }

  Axes children(std::size_t parent, std::int64_t pick) const {
    Axes found;
    for (std::size_t axis = 0; axis < space_.size(); ++axis) {
      const Axis& child = space_.axes()[axis];
      const bool hangs = child.parent == parent &&
                         std::ranges::find(child.parent_picks, pick) != child.parent_picks.end();
      if (hangs) found.push_back(axis);
    }
    return found;
  }

  // As doubles, so that what cannot be counted is just too large.
  double combinations(const Axes& axes) const {
    double product = 1;
    for (const std::size_t axis : axes) product *= points_of(axis);
    return product;
  }

  double points_of(std::size_t axis) const {
    const double cells = space_.cells(axis);
    if (cells == 0) return std::numeric_limits<double>::infinity();
    if (space_.axes()[axis].kind != Axis::Kind::kCategorical) return cells;
    double sum = 0;
    for (std::int64_t pick = 0; pick < space_.axes()[axis].count; ++pick) {
      sum += combinations(children(axis, pick));
    }
    return sum;
  }

  void place(const Axes& axes, std::int64_t position, Point& point) const {
    for (const std::size_t axis : std::views::reverse(axes)) {
      const auto points = static_cast<std::int64_t>(points_of(axis));
      place_tree(axis, position % points, point);
      position /= points;
    }
    CHECK(position == 0, "a trial beyond the end of its grid");
  }

  void place_tree(std::size_t axis, std::int64_t position, Point& point) const {
    const Axis& self = space_.axes()[axis];
    if (self.kind != Axis::Kind::kCategorical) {
      point[axis] = self.low + static_cast<double>(position) * (self.step > 0 ? self.step : 1);
      return;
    }
    for (std::int64_t pick = 0; pick < self.count; ++pick) {
      const Axes below = children(axis, pick);
      const auto share = static_cast<std::int64_t>(combinations(below));
      if (position < share) {
        point[axis] = static_cast<double>(pick);
        place(below, position, point);
        return;
      }
      position -= share;
    }
  }

  const Space& space_;
};

class GridSampler : public Sampler {
 public:
  explicit GridSampler(const SamplerSetup& setup) : grid_(*setup.space) {
    const std::optional<std::int64_t> points = grid_points(*setup.space);
    CHECK(points.has_value(), "a grid over a space that cannot be counted");
    points_ = *points;
  }

  // More trials than points are asked for where a condition leaves out what the job's file counts,
  // or the method was chosen for its few points.
  Point suggest(std::int64_t number) override { return grid_.at(number % points_); }
  void asked(std::int64_t /*number*/, const Point& /*point*/) override {}
  void told(std::int64_t /*number*/, const Outcome& /*outcome*/) override {}

 private:
  const Grid grid_;
  std::int64_t points_ = 0;
};

}  // namespace

std::optional<std::int64_t> grid_points(const Space& space) {
  const double points = Grid(space).points();
  if (!(points <= kGridPointsMax)) return std::nullopt;
  return static_cast<std::int64_t>(points);
}

std::unique_ptr<Sampler> make_grid_sampler(const SamplerSetup& setup) {
  return std::make_unique<GridSampler>(setup);
}

}  // namespace runnel::search
