#pragma once

#include <vector>

namespace runnel::search {

// Makes values fit for a Gaussian process: the better half as it is, the worse half by its
// logarithm, so that a few trials that went very wrong do not flatten the differences between good
// ones.
class TargetScale {
 public:
  // The values in rising order; at least one.
  explicit TargetScale(const std::vector<double>& sorted);

  double scaled(double value) const;  // Rises with the value, smoothly.

 private:
  double usual_ = 0;   // The largest value that stays.
  double spread_ = 0;  // From the best tenth to the median.
};

// Moved and stretched to mean 0 and deviation 1.
std::vector<double> standardized(std::vector<double> values);

}  // namespace runnel::search
