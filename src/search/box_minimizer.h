#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
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

// Goes downhill from `start` inside a box, a step at a time: L-BFGS (Nocedal, "Updating
// quasi-Newton matrices with limited storage", 1980) on the coordinates that no face of the box
// holds back, each step projected into the box (Bertsekas, "Projected Newton methods", 1982).
//
// Contract: borrows the function and the box. The value never rises.
class Descent {
 public:
  Descent(const SmoothFunction& function, std::vector<double> start, const Box& box);

  // Whether it is worth going on. A step mostly asks for one value, and for 12 at most.
  bool step();
  Minimum result() const { return {at_, value_}; }

 private:
  struct Pair {
    std::vector<double> moved;
    std::vector<double> turned;
    double curvature = 0;
  };

  std::vector<double> clamped(std::vector<double> values) const;
  bool held(std::size_t i) const;
  void release(std::vector<double>& direction) const;
  std::vector<double> newton_direction() const;
  // Goes there if it is low enough, and says what that gained.
  std::optional<double> try_step(const std::vector<double>& direction, double share);
  void remember(std::vector<double> moved, std::vector<double> turned);

  const SmoothFunction& function_;
  const Box& box_;
  std::vector<double> at_;
  std::vector<double> gradient_;
  double value_ = 0;
  std::deque<Pair> pairs_;
};

// A descent of at most `steps_max` steps.
Minimum minimize(const SmoothFunction& function, std::vector<double> start, const Box& box,
                 int steps_max);

}  // namespace runnel::search
