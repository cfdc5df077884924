#include "search/running_median.h"

#include "base/check.h"

namespace runnel::search {

void RunningMedian::add(double value) {
  lower_.push(value);
  upper_.push(lower_.top());
  lower_.pop();
  if (upper_.size() <= lower_.size()) return;
  lower_.push(upper_.top());
  upper_.pop();
}

double RunningMedian::median() const {
  CHECK(!lower_.empty(), "the median of nothing");
  if (lower_.size() > upper_.size()) return lower_.top();
  return lower_.top() / 2 + upper_.top() / 2;  // The sum of two finite numbers need not be one.
}

}  // namespace runnel::search
