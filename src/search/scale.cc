#include "search/scale.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"

namespace runnel::search {
namespace {

// A step that does not divide its interval in binary may end this share of itself too early.
constexpr double kSlack = 1e-9;

std::pair<double, double> range_of(const Axis& axis) {
  if (axis.kind == Axis::Kind::kCategorical) return {0, static_cast<double>(axis.count - 1)};
  return {axis.low, axis.high};
}

// Half of what an integer owns on either side, so that the first and the last get as much as
// others.
std::pair<double, double> log_range(const Axis& axis) {
  const double margin = axis.kind == Axis::Kind::kInteger ? 0.5 : 0;
  return {std::log(axis.low - margin), std::log(axis.high + margin)};
}

double counted_value(const Axis& axis, double number) {
  const auto [low, high] = range_of(axis);
  return std::min(low + number * spacing_of(axis), high);
}

}  // namespace

double spacing_of(const Axis& axis) { return axis.kind == Axis::Kind::kReal ? axis.step : 1; }

double count_of(const Axis& axis) {
  const double spacing = spacing_of(axis);
  if (spacing == 0) return 0;
  const auto [low, high] = range_of(axis);
  return std::floor((high - low) / spacing + kSlack) + 1;
}

double unit_of(const Axis& axis, double value) {
  const auto [low, high] = range_of(axis);
  if (!(low < high)) return 0.5;
  if (axis.log) {
    const auto [begin, end] = log_range(axis);
    return std::clamp((std::log(value) - begin) / (end - begin), 0.0, 1.0);
  }
  const double count = count_of(axis);
  if (count > 0) return (std::round((value - low) / spacing_of(axis)) + 0.5) / count;
  // Halves, since the width of an interval need not be a finite number.
  return std::clamp((value / 2 - low / 2) / (high / 2 - low / 2), 0.0, 1.0);
}

double value_of(const Axis& axis, double unit) {
  CHECK(unit >= 0, "a place before the scale begins");
  CHECK(unit <= 1, "a place after the scale ends");
  const auto [low, high] = range_of(axis);
  if (axis.log) {
    const auto [begin, end] = log_range(axis);
    return nearest_value(axis, std::exp(begin + unit * (end - begin)));
  }
  const double count = count_of(axis);
  if (count == 0) return nearest_value(axis, low * (1 - unit) + high * unit);
  return counted_value(axis, std::min(std::floor(unit * count), count - 1));
}

double nearest_value(const Axis& axis, double value) {
  const auto [low, high] = range_of(axis);
  const double spacing = spacing_of(axis);
  if (spacing == 0) return std::clamp(value, low, high);
  const double last = count_of(axis) - 1;
  return counted_value(axis, std::clamp(std::round((value - low) / spacing), 0.0, last));
}

bool takes_part(const std::vector<Axis>& axes, const Point& point, std::size_t axis) {
  const Axis& self = axes[axis];
  if (!self.parent) return true;
  if (!takes_part(axes, point, *self.parent)) return false;
  const auto& picks = self.parent_picks;
  return std::any_of(picks.begin(), picks.end(), [&](std::int64_t pick) {
    return static_cast<double>(pick) == point[*self.parent];
  });
}

}  // namespace runnel::search
