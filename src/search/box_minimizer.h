#pragma once

#include <functional>
#include <vector>

namespace runnel::search {

// The value at `at`; also writes the gradient, which has the size of `at`.
using SmoothFunction =
    std::function<double(const std::vector<double>& at, std::vector<double>& gradient)>;

struct Box {
  std::vector<double> low;
  std::vector<double> high;
};

struct Minimum {
  std::vector<double> at;
  double value = 0;
};

// Goes downhill from `start` inside a box: L-BFGS (Nocedal, "Updating quasi-Newton matrices with
// limited storage", 1980) on the coordinates that no face of the box holds back, each step
// projected into the box (Bertsekas, "Projected Newton methods", 1982). Ends after `steps_max`
// steps, or when nothing more is gained. The value never rises.
Minimum minimize(const SmoothFunction& function, std::vector<double> start, const Box& box,
                 int steps_max);

}  // namespace runnel::search
