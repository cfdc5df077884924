#include "search/choice_chances.h"

#include <cmath>
#include <limits>

namespace runnel::search {
namespace {

constexpr double kLearningRate = 0.3;
constexpr double kNeverLost = 0.1;  // Part of all chance, shared by all values.

std::size_t pick(const std::vector<double>& chances, double share) {
  std::size_t value = 0;
  while (value + 1 < chances.size() && share >= chances[value]) share -= chances[value++];
  return value;
}

}  // namespace

ChoiceChances::ChoiceChances(const Space& space) {
  for (const Axis& axis : space.axes()) {
    const auto count = static_cast<std::size_t>(axis.count);
    chances_.emplace_back(count, 1 / static_cast<double>(axis.count));
  }
}

UnitPoint ChoiceChances::draw(RandomStream& stream) const {
  UnitPoint units(chances_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t axis = 0; axis < chances_.size(); ++axis) {
    if (chances_[axis].empty()) continue;
    units[axis] = static_cast<double>(pick(chances_[axis], stream.uniform()));
  }
  return units;
}

void ChoiceChances::favour(const UnitPoint& units, double weight) {
  for (std::size_t axis = 0; axis < chances_.size(); ++axis) {
    if (chances_[axis].empty() || std::isnan(units[axis])) continue;
    const double least = kNeverLost / static_cast<double>(chances_[axis].size());
    for (double& chance : chances_[axis]) chance += kLearningRate * weight * (least - chance);
    const auto favoured = static_cast<std::size_t>(units[axis]);
    chances_[axis][favoured] += kLearningRate * weight * (1 - kNeverLost);
  }
}

}  // namespace runnel::search
