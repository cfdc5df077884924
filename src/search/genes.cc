#include "search/genes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace runnel::search {
namespace {

constexpr double kCrossingChance = 0.9;
// How near children stay: eta_c and eta_m of the papers.
constexpr double kCrossingIndex = 15;
constexpr double kMutationIndex = 20;

// How far apart two children are, relative to their parents.
double spread_factor(double share) {
  const double power = 1 / (kCrossingIndex + 1);
  if (share < 0.5) return std::pow(2 * share, power);
  return std::pow(1 / (2 * (1 - share)), power);
}

double crossed(double one, double other, RandomStream& stream) {
  const double factor = spread_factor(stream.uniform());
  const double side = stream.uniform() < 0.5 ? 1 : -1;
  return std::clamp((one + other + side * factor * (one - other)) / 2, 0.0, 1.0);
}

double mutated(double value, RandomStream& stream) {
  const double share = stream.uniform();
  const double power = 1 / (kMutationIndex + 1);
  const double shift =
      share < 0.5 ? std::pow(2 * share, power) - 1 : 1 - std::pow(2 * (1 - share), power);
  return std::clamp(value + shift, 0.0, 1.0);
}

double drawn(const Space& space, std::size_t axis, RandomStream& stream) {
  const double share = stream.uniform();
  const bool choice = space.axes()[axis].kind == Axis::Kind::kCategorical;
  return choice ? std::floor(share * space.cells(axis)) : share;
}

}  // namespace

UnitPoint child_of(const Space& space, const UnitPoint& one, const UnitPoint& other,
                   RandomStream& stream) {
  const bool crossing = stream.uniform() < kCrossingChance;
  const double mutation_chance = 1 / static_cast<double>(space.size());
  UnitPoint child;
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    double a = one[axis];
    double b = crossing ? other[axis] : a;
    if (std::isnan(a)) std::swap(a, b);
    if (std::isnan(b)) b = a;
    const bool choice = space.axes()[axis].kind == Axis::Kind::kCategorical;
    const bool mutates = stream.uniform() < mutation_chance;
    if (std::isnan(a) || (choice && mutates)) {
      child.push_back(drawn(space, axis, stream));
    } else if (choice) {
      child.push_back(stream.uniform() < 0.5 ? a : b);
    } else {
      const double value = crossed(a, b, stream);
      child.push_back(mutates ? mutated(value, stream) : value);
    }
  }
  return child;
}

}  // namespace runnel::search
