#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/spec.h"

namespace runnel::search {

// One coordinate per parameter, in the specification's order: the position in `values` of a choice,
// the number itself of a range or an interval; NaN where a condition leaves the parameter out.
using Point = std::vector<double>;
using Texts = std::vector<std::pair<std::string, std::string>>;

// A parameter as a sampler sees it.
struct Axis {
  enum class Kind : std::uint8_t { kCategorical, kInteger, kReal };
  Kind kind = Kind::kReal;
  std::int64_t count = 0;  // kCategorical: how many values.
  double low = 0;          // kInteger, kReal: both ends are possible.
  double high = 0;
  double step = 0;  // kReal: distance of the values that are possible, from low on; 0: all.
  bool log = false;
  std::optional<std::size_t> parent;       // The axis of the choice that this one hangs on ...
  std::vector<std::int64_t> parent_picks;  // ... and the positions with which it takes part.
};

// The parameters of a search.
//
// Contract: made from a checked specification. Conditions form a forest; an axis takes part when
//           its parent does and has one of its picks.
class Space {
 public:
  explicit Space(const std::vector<model::Parameter>& params);

  const std::vector<Axis>& axes() const { return axes_; }
  std::size_t size() const { return axes_.size(); }
  // How many values the axis can have; 0 where they are not counted.
  double cells(std::size_t axis) const;
  // Whether the axis takes part, given the coordinates of its ancestors.
  bool active(const Point& point, std::size_t axis) const;
  // The point with its coordinates moved to the nearest possible value and NaN where they take no
  // part; a coordinate that takes part and is NaN becomes the middle of its axis.
  Point repaired(Point point) const;

  // Names and values of the parameters that take part, in the specification's order. Reals as the
  // shortest decimal text that reads back the same.
  Texts texts(const Point& point) const;
  // Back. kInvalid naming the parameter: unknown, not possible, missing, or without its condition.
  Result<Point> point(const Texts& texts) const;
  // As point(), but what is missing is NaN, to be suggested.
  Result<Point> partial_point(const Texts& texts) const;

  // Between the natural coordinate and [0, 1]: logarithmic axes by their logarithm, integers and
  // steps in cells of equal width, so that each value has the same share. Not for categories.
  double to_unit(std::size_t axis, double value) const;
  double from_unit(std::size_t axis, double unit) const;

 private:
  double nearest(std::size_t axis, double value) const;
  std::string text(std::size_t axis, double value) const;
  Result<double> value(std::size_t axis, const std::string& text) const;

  std::vector<model::Parameter> params_;
  std::vector<Axis> axes_;
  std::vector<std::size_t> parents_first_;  // All axes.
};

}  // namespace runnel::search
