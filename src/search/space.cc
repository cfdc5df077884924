#include "search/space.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "search/decimal.h"
#include "search/scale.h"

namespace runnel::search {
namespace {

using model::Parameter;

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
// A step that does not divide its interval in binary may end this share of itself too early.
constexpr double kStepSlack = 1e-9;

std::optional<std::size_t> index_of(const std::vector<Parameter>& params, const std::string& name) {
  const auto found = std::ranges::find(params, name, &Parameter::name);
  if (found == params.end()) return std::nullopt;
  return static_cast<std::size_t>(found - params.begin());
}

std::optional<std::int64_t> position_of(const Parameter& choice, const std::string& text) {
  const auto found = std::ranges::find(choice.values, text);
  if (found == choice.values.end()) return std::nullopt;
  return found - choice.values.begin();
}

Axis plain_axis(const Parameter& parameter) {
  if (parameter.kind == Parameter::Kind::kChoice) {
    CHECK(!parameter.values.empty(), "a choice without values in a checked spec");
    return {.kind = Axis::Kind::kCategorical,
            .count = static_cast<std::int64_t>(parameter.values.size())};
  }
  Axis axis{.low = number_of<double>(parameter.low), .high = number_of<double>(parameter.high)};
  CHECK(axis.low <= axis.high, "an interval ends before it begins in a checked spec");
  axis.kind = parameter.kind == Parameter::Kind::kRange ? Axis::Kind::kInteger : Axis::Kind::kReal;
  axis.log = parameter.log || parameter.kind == Parameter::Kind::kLogUniform;
  if (!parameter.step.empty()) {
    axis.step = number_of<double>(parameter.step);
    const double steps = std::floor((axis.high - axis.low) / axis.step + kStepSlack);
    axis.high = rounded_to_digits(axis.low + steps * axis.step);
  }
  return axis;
}

void attach(Axis& axis, const Parameter& parameter, const std::vector<Parameter>& params) {
  if (!parameter.when) return;
  axis.parent = index_of(params, parameter.when->parameter);
  CHECK(axis.parent.has_value(), "a condition names no parameter in a checked spec");
  for (const std::string& value : parameter.when->values) {
    const auto position = position_of(params[*axis.parent], value);
    CHECK(position.has_value(), "a condition names no value of its choice in a checked spec");
    axis.parent_picks.push_back(*position);
  }
}

std::size_t depth(const std::vector<Axis>& axes, std::size_t axis) {
  std::size_t steps = 0;
  while (axes[axis].parent) {
    axis = *axes[axis].parent;
    CHECK(++steps < axes.size(), "conditions go round in a checked spec");
  }
  return steps;
}

std::vector<std::size_t> by_depth(const std::vector<Axis>& axes) {
  std::vector<std::size_t> order(axes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {},
                    [&](std::size_t axis) { return std::pair(depth(axes, axis), axis); });
  return order;
}

// What from_unit() and to_unit() stretch to [0, 1] on a logarithmic axis: integers own the space
// up to half way to their neighbours.
std::pair<double, double> log_ends(const Axis& axis) {
  const double margin = axis.kind == Axis::Kind::kInteger ? 0.5 : 0;
  return {std::log(axis.low - margin), std::log(axis.high + margin)};
}

double spacing(const Axis& axis) { return axis.step > 0 ? axis.step : 1; }

Error refused(const std::string& name, const std::string& text, std::string message) {
  return Error(Errc::kInvalid, std::move(message)).with_field("params." + name).with_value(text);
}

}  // namespace

Space::Space(const std::vector<Parameter>& params) : params_(params) {
  for (const Parameter& parameter : params_) {
    axes_.push_back(plain_axis(parameter));
    attach(axes_.back(), parameter, params_);
  }
  parents_first_ = by_depth(axes_);
}

double Space::cells(std::size_t axis) const {
  const Axis& self = axes_[axis];
  if (self.kind == Axis::Kind::kCategorical) return static_cast<double>(self.count);
  if (self.kind == Axis::Kind::kReal && self.step == 0) return 0;
  return std::round((self.high - self.low) / spacing(self)) + 1;
}

bool Space::active(const Point& point, std::size_t axis) const {
  return takes_part(axes_, point, axis);
}

double Space::nearest(std::size_t axis, double value) const {
  const Axis& self = axes_[axis];
  if (self.kind == Axis::Kind::kCategorical) {
    return std::clamp(std::round(value), 0.0, static_cast<double>(self.count - 1));
  }
  const double inside = std::clamp(value, self.low, self.high);
  if (self.kind == Axis::Kind::kInteger) return std::round(inside);
  if (self.step == 0) return inside;
  return rounded_to_digits(self.low + std::round((inside - self.low) / self.step) * self.step);
}

Point Space::repaired(Point point) const {
  CHECK(point.size() == size(), "a point of another space");
  for (const std::size_t axis : parents_first_) {
    double& value = point[axis];
    if (!active(point, axis)) {
      value = kAbsent;
    } else if (!std::isnan(value)) {
      value = nearest(axis, value);
    } else if (axes_[axis].kind == Axis::Kind::kCategorical) {
      const std::int64_t middle = (axes_[axis].count - 1) / 2;
      value = static_cast<double>(middle);
    } else {
      value = from_unit(axis, 0.5);
    }
  }
  return point;
}

double Space::to_unit(std::size_t axis, double value) const {
  const Axis& self = axes_[axis];
  CHECK(self.kind != Axis::Kind::kCategorical, "categories have no order");
  if (self.low == self.high) return 0.5;
  if (self.log) {
    const auto [low, high] = log_ends(self);
    return std::clamp((std::log(value) - low) / (high - low), 0.0, 1.0);
  }
  const double count = cells(axis);
  if (count == 0) return std::clamp((value - self.low) / (self.high - self.low), 0.0, 1.0);
  return (std::round((value - self.low) / spacing(self)) + 0.5) / count;
}

double Space::from_unit(std::size_t axis, double unit) const {
  const Axis& self = axes_[axis];
  CHECK(self.kind != Axis::Kind::kCategorical, "categories have no order");
  if (self.log) {
    if (unit <= 0 || unit >= 1) return unit <= 0 ? self.low : self.high;
    const auto [low, high] = log_ends(self);
    return nearest(axis, std::exp(low + unit * (high - low)));
  }
  const double count = cells(axis);
  if (count == 0) return nearest(axis, self.low * (1 - unit) + self.high * unit);
  const double cell = std::clamp(std::floor(unit * count), 0.0, count - 1);
  return nearest(axis, self.low + cell * spacing(self));
}

std::string Space::text(std::size_t axis, double value) const {
  const Axis& self = axes_[axis];
  const Parameter& parameter = params_[axis];
  if (self.kind == Axis::Kind::kCategorical) {
    return parameter.values[static_cast<std::size_t>(value)];
  }
  if (self.kind == Axis::Kind::kReal) return shortest(value);
  // The ends as written: a double may not hold them, nor an integer the double.
  if (value >= self.high) return std::to_string(number_of<std::int64_t>(parameter.high));
  if (value <= self.low) return std::to_string(number_of<std::int64_t>(parameter.low));
  return std::to_string(static_cast<std::int64_t>(value));
}

Texts Space::texts(const Point& point) const {
  CHECK(point.size() == size(), "a point of another space");
  Texts texts;
  for (std::size_t axis = 0; axis < size(); ++axis) {
    if (!active(point, axis)) continue;
    CHECK(!std::isnan(point[axis]), "a parameter takes part and has no value");
    texts.emplace_back(params_[axis].name, text(axis, point[axis]));
  }
  return texts;
}

Result<double> Space::value(std::size_t axis, const std::string& text) const {
  const Axis& self = axes_[axis];
  const Parameter& parameter = params_[axis];
  if (self.kind == Axis::Kind::kCategorical) {
    const auto position = position_of(parameter, text);
    if (!position) return refused(parameter.name, text, "is none of the values of this choice");
    return static_cast<double>(*position);
  }
  const bool whole = self.kind != Axis::Kind::kInteger || parsed<std::int64_t>(text).has_value();
  const auto value = parsed<double>(text);
  if (!value || !whole) {
    return refused(parameter.name, text, whole ? "is not a number" : "is not an integer");
  }
  if (!(*value >= self.low && *value <= self.high)) {
    return refused(parameter.name, text,
                   "is outside [" + shortest(self.low) + ", " + shortest(self.high) + "]");
  }
  const double possible = nearest(axis, *value);
  if (std::abs(possible - *value) > kStepSlack * spacing(self)) {
    return refused(parameter.name, text, "is not on a step of this parameter")
        .with_hint("the nearest one is " + shortest(possible));
  }
  return possible;
}

Result<Point> Space::partial_point(const Texts& texts) const {
  Point point(size(), kAbsent);
  for (const auto& [name, text] : texts) {
    const auto axis = index_of(params_, name);
    if (!axis) return refused(name, text, "there is no parameter of this name");
    if (!std::isnan(point[*axis])) return refused(name, text, "this parameter is given twice");
    point[*axis] = TRY(value(*axis, text));
  }
  return point;
}

Result<Point> Space::point(const Texts& texts) const {
  Point point = TRY(partial_point(texts));
  for (std::size_t axis = 0; axis < size(); ++axis) {
    const bool given = !std::isnan(point[axis]);
    if (given == active(point, axis)) continue;
    if (!given) return refused(params_[axis].name, "", "this parameter has no value");
    return refused(params_[axis].name, text(axis, point[axis]),
                   "this parameter takes no part: its condition is not met");
  }
  return point;
}

}  // namespace runnel::search
