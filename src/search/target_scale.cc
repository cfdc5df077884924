#include "search/target_scale.h"

#include <cmath>

#include "base/check.h"

namespace runnel::search {

TargetScale::TargetScale(const std::vector<double>& sorted) {
  CHECK(!sorted.empty(), "a scale of no values");
  const double median = sorted[sorted.size() / 2];
  spread_ = median - sorted[sorted.size() / 10];
  usual_ = median + spread_;
}

double TargetScale::scaled(double value) const {
  if (value <= usual_ || spread_ == 0) return value;
  return usual_ + spread_ * std::log1p((value - usual_) / spread_);
}

std::vector<double> standardized(std::vector<double> values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double variance = 0;
  for (const double value : values) variance += (value - mean) * (value - mean) / count;
  const double deviation = variance > 0 ? std::sqrt(variance) : 1;
  for (double& value : values) value = (value - mean) / deviation;
  return values;
}

}  // namespace runnel::search
