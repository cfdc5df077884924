#include "search/explore.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "search/permutation.h"
#include "search/scale.h"

namespace runnel::search {
namespace {

constexpr double kMovedShare = 0.2;  // Times 0.8 or 1.2.

enum class Chance : std::uint8_t { kResample, kValue, kDirection };

class Exploration {
 public:
  Exploration(const std::vector<Axis>& axes, const Point& from, double resample, std::uint64_t key)
      : axes_(axes), point_(from), settled_(from.size()), resample_(resample), key_(key) {}

  Point run() {
    for (std::size_t axis = 0; axis < axes_.size(); ++axis) settle(axis);
    return point_;
  }

 private:
  // After its parent, which may stand later in the specification.
  void settle(std::size_t axis) {
    if (settled_[axis]) return;
    if (axes_[axis].parent) settle(*axes_[axis].parent);
    settled_[axis] = true;
    double& value = point_[axis];
    if (!takes_part(axes_, point_, axis)) {
      value = std::numeric_limits<double>::quiet_NaN();
    } else if (std::isnan(value) || draw(axis, Chance::kResample) < resample_) {
      value = value_of(axes_[axis], draw(axis, Chance::kValue));
    } else {
      value = neighbour(axis, value);
    }
  }

  double neighbour(std::size_t axis, double value) const {
    const Axis& self = axes_[axis];
    const double direction = draw(axis, Chance::kDirection) < 0.5 ? -1 : 1;
    if (self.kind != Axis::Kind::kCategorical) {
      const double change = std::max(std::abs(value) * kMovedShare, spacing_of(self));
      return nearest_value(self, value + direction * change);
    }
    const double moved = nearest_value(self, value + direction);
    return moved == value ? nearest_value(self, value - direction) : moved;
  }

  double draw(std::size_t axis, Chance chance) const {
    const std::uint64_t bits = derive(derive(key_, axis), static_cast<std::uint64_t>(chance));
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }

  const std::vector<Axis>& axes_;
  Point point_;
  std::vector<bool> settled_;
  double resample_;
  std::uint64_t key_;
};

}  // namespace

Point explored(const std::vector<Axis>& axes, const Point& from, std::int32_t resample_percent,
               std::uint64_t key) {
  CHECK(from.size() == axes.size(), "a point of another space");
  return Exploration(axes, from, resample_percent / 100.0, key).run();
}

}  // namespace runnel::search
