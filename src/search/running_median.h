#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

namespace runnel::search {

// The median of finite numbers that only become more. O(log n) to add, O(1) to ask.
class RunningMedian {
 public:
  void add(double value);
  std::size_t count() const { return lower_.size() + upper_.size(); }
  // The middle between the two where the count is even. Needs at least one number.
  double median() const;

 private:
  // Each number of lower_ is at most each of upper_; lower_ has as many, or one more.
  std::priority_queue<double> lower_;
  std::priority_queue<double, std::vector<double>, std::greater<>> upper_;
};

}  // namespace runnel::search
