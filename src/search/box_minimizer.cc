#include "search/box_minimizer.h"

#include <algorithm>
#include <cmath>
#include <ranges>
#include <utility>

#include "base/check.h"

namespace runnel::search {
namespace {

using Coordinates = std::vector<double>;

constexpr std::size_t kStepsRemembered = 8;  // Steps that shape the next direction.
constexpr int kShorterSteps = 12;     // Tries of a step, each at most half as long as before.
constexpr double kEnoughGain = 1e-4;  // Share of the gain that the gradient promises.
constexpr double kLeastGain = 1e-10;  // Relative; less is the end.
constexpr double kFirstLength = 0.1;  // The first step, while nothing is known of curvature.

double dot(const Coordinates& a, const Coordinates& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Coordinates difference(const Coordinates& a, const Coordinates& b) {
  Coordinates result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

void add_scaled(Coordinates& to, double factor, const Coordinates& what) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * what[i];
}

}  // namespace

Descent::Descent(const SmoothFunction& function, std::vector<double> start, const Box& box)
    : function_(function), box_(box), at_(clamped(std::move(start))), gradient_(at_.size()) {
  value_ = function_(at_, gradient_);
}

bool Descent::step() {
  Coordinates direction = newton_direction();
  if (dot(direction, gradient_) >= 0) {
    pairs_.clear();
    direction = newton_direction();
  }
  const double slope = dot(direction, gradient_);
  if (!(slope < 0)) return false;
  const double length = std::sqrt(dot(direction, direction));
  double share = pairs_.empty() ? std::min(1.0, kFirstLength / length) : 1;
  for (int tries = 0; tries < kShorterSteps; ++tries, share /= 2) {
    if (const auto gain = try_step(direction, share)) {
      return *gain > kLeastGain * (1 + std::abs(value_));
    }
  }
  return false;
}

std::vector<double> Descent::clamped(Coordinates values) const {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::clamp(values[i], box_.low[i], box_.high[i]);
  }
  return values;
}

bool Descent::held(std::size_t i) const {
  return (at_[i] <= box_.low[i] && gradient_[i] > 0) ||
         (at_[i] >= box_.high[i] && gradient_[i] < 0);
}

void Descent::release(Coordinates& direction) const {
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (held(i)) direction[i] = 0;
  }
}

// The two-loop recursion.
std::vector<double> Descent::newton_direction() const {
  Coordinates direction(at_.size());
  for (std::size_t i = 0; i < at_.size(); ++i) direction[i] = -gradient_[i];
  release(direction);
  Coordinates shares;
  for (const Pair& pair : std::ranges::reverse_view(pairs_)) {
    shares.push_back(dot(pair.moved, direction) / pair.curvature);
    add_scaled(direction, -shares.back(), pair.turned);
  }
  if (!pairs_.empty()) {
    const Pair& last = pairs_.back();
    const double scale = last.curvature / dot(last.turned, last.turned);
    for (double& value : direction) value *= scale;
  }
  for (const Pair& pair : pairs_) {
    const double share = shares.back() - dot(pair.turned, direction) / pair.curvature;
    add_scaled(direction, share, pair.moved);
    shares.pop_back();
  }
  release(direction);
  return direction;
}

std::optional<double> Descent::try_step(const Coordinates& direction, double share) {
  Coordinates next = at_;
  add_scaled(next, share, direction);
  next = clamped(std::move(next));
  Coordinates moved = difference(next, at_);
  Coordinates gradient(at_.size());
  const double value = function_(next, gradient);
  const double promised = dot(moved, gradient_);
  if (!(value <= value_ + kEnoughGain * promised)) return std::nullopt;
  remember(std::move(moved), difference(gradient, gradient_));
  const double gain = value_ - value;
  at_ = std::move(next);
  gradient_ = std::move(gradient);
  value_ = value;
  return gain;
}

void Descent::remember(Coordinates moved, Coordinates turned) {
  const double curvature = dot(moved, turned);
  if (!(curvature > 1e-12 * dot(turned, turned))) return;
  pairs_.push_back({std::move(moved), std::move(turned), curvature});
  if (pairs_.size() > kStepsRemembered) pairs_.pop_front();
}

Minimum minimize(const SmoothFunction& function, std::vector<double> start, const Box& box,
                 int steps_max) {
  CHECK(start.size() == box.low.size(), "a start outside its box");
  CHECK(start.size() == box.high.size(), "a box with an open side");
  Descent descent(function, std::move(start), box);
  for (int steps = 0; steps < steps_max && descent.step(); ++steps) continue;
  return descent.result();
}

}  // namespace runnel::search
