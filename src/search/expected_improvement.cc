#include "search/expected_improvement.h"

#include <cmath>
#include <numbers>

namespace runnel::search {
namespace {

// Below this the two terms cancel, and a series in 1/z^2 has full precision.
constexpr double kSeriesBelow = -25;

}  // namespace

LogImprovement log_improvement(double deviations) {
  const double z = deviations;
  const double log_density = -z * z / 2 - std::log(2 * std::numbers::pi) / 2;
  if (z < kSeriesBelow) {
    const double w = 1 / (z * z);
    const double series = 1 - 3 * w + 15 * w * w - 105 * w * w * w;
    const double bend = (6 * w - 60 * w * w + 630 * w * w * w) / (z * series);
    return {log_density + std::log(w * series), -z - 2 / z + bend};
  }
  const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
  const double improvement = std::exp(log_density) + z * below;
  return {std::log(improvement), below / improvement};
}

}  // namespace runnel::search
