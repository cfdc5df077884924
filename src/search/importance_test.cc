#include "search/importance.h"

#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "search/permutation.h"
#include "search/scale.h"

namespace runnel::search {
namespace {

using Kind = Axis::Kind;

const Axis kPlain{.low = -3, .high = 5};
const Axis kLogarithmic{.low = 1e-5, .high = 1e-1, .log = true};
const Axis kCounted{.kind = Kind::kInteger, .low = 1, .high = 8};
const Axis kChoice{.kind = Kind::kCategorical, .count = 4};

std::vector<Point> random_points(const std::vector<Axis>& axes, std::size_t count) {
  std::vector<Point> points(count, Point(axes.size()));
  for (std::size_t trial = 0; trial < count; ++trial) {
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const double unit = static_cast<double>(derive(derive(5, trial), axis) >> 11) * 0x1p-53;
      points[trial][axis] = value_of(axes[axis], unit);
    }
  }
  return points;
}

template <typename Function>
std::vector<double> values_of(const std::vector<Point>& points, Function function) {
  std::vector<double> values;
  for (const Point& point : points) values.push_back(function(point));
  return values;
}

// Each kind of axis in turn decides everything, among others that decide nothing.
TEST(Importance, FindsTheOneThatDecides) {
  const std::vector<Axis> axes = {kPlain, kLogarithmic, kCounted, kChoice};
  const auto points = random_points(axes, 400);
  for (std::size_t deciding = 0; deciding < axes.size(); ++deciding) {
    const auto values = values_of(points, [&](const Point& point) {
      return std::abs(unit_of(axes[deciding], point[deciding]) - 0.4);
    });
    const auto shares = importances(axes, points, values);
    EXPECT_GT(shares[deciding], 0.85) << deciding;
    EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
  }
}

TEST(Importance, OrdersByInfluence) {
  const std::vector<Axis> axes = {kPlain, kPlain, kPlain};
  const auto points = random_points(axes, 1'000);
  const auto values = values_of(points, [](const Point& point) {
    return point[0] * point[0] + 4 * point[1] * point[1] + 0.01 * point[2] * point[2];
  });
  const auto shares = importances(axes, points, values);
  EXPECT_GT(shares[1], shares[0]);
  EXPECT_GT(shares[0], 3 * shares[2]);
}

// By hand: the 5 best of 40 trials have the first value of either choice, as 20 and 10 of all have.
TEST(Importance, IsThePearsonDivergence) {
  const Axis coin{.kind = Kind::kCategorical, .count = 2};
  std::vector<Point> points;
  std::vector<double> values;
  for (int trial = 0; trial < 40; ++trial) {
    points.push_back({trial < 20 ? 0.0 : 1.0, trial < 10 ? 0.0 : 1.0});
    values.push_back(trial);
  }
  const double first = 0.5 * 0.5 / 0.5 + 0.5 * 0.5 / 0.5;
  const double second = 0.75 * 0.75 / 0.25 + 0.75 * 0.75 / 0.75;
  const auto shares = importances({coin, coin}, points, values);
  EXPECT_NEAR(shares[0], first / (first + second), 1e-12);
  EXPECT_NEAR(shares[1], second / (first + second), 1e-12);
}

TEST(Importance, OfConstantValuesIsZero) {
  const std::vector<Axis> axes = {kPlain, kChoice};
  const auto points = random_points(axes, 100);
  EXPECT_EQ(importances(axes, points, std::vector<double>(100, 7)), (std::vector<double>{0, 0}));
  EXPECT_EQ(importances(axes, {}, {}), (std::vector<double>{0, 0}));
}

// Most trials are as good as the best: whoever came first says nothing.
TEST(Importance, CountsTiesAmongTheBest) {
  const std::vector<Axis> axes = {{.kind = Kind::kInteger, .low = 0, .high = 99}};
  std::vector<Point> points;
  std::vector<double> values;
  for (int trial = 0; trial < 100; ++trial) {
    points.push_back({static_cast<double>(trial)});
    values.push_back(1);
  }
  EXPECT_EQ(importances(axes, points, values), (std::vector<double>{0}));
}

TEST(Importance, OfAnAxisWithOneValueIsZero) {
  const std::vector<Axis> axes = {{.low = 2, .high = 2}, kPlain};
  const auto points = random_points(axes, 50);
  const auto values = values_of(points, [](const Point& point) { return point[1]; });
  EXPECT_EQ(importances(axes, points, values), (std::vector<double>{0, 1}));
}

// The child decides within its half of the trials; where it takes no part it is NaN.
TEST(Importance, JudgesAConditionWhereItHolds) {
  Axis child = kPlain;
  child.parent = 0;
  child.parent_picks = {1};
  const std::vector<Axis> axes = {{.kind = Kind::kCategorical, .count = 2}, child, kPlain};
  auto points = random_points(axes, 400);
  for (Point& point : points) {
    if (point[0] == 0) point[1] = std::numeric_limits<double>::quiet_NaN();
  }
  const auto values =
      values_of(points, [](const Point& point) { return point[0] == 0 ? -2.9 : point[1]; });
  const auto shares = importances(axes, points, values);
  EXPECT_GT(shares[1], 0.7);
  EXPECT_LT(shares[2], 0.1);
}

TEST(ImportanceDeathTest, ATrialWithoutAValueIsOurBug) {
  EXPECT_DEATH((void)importances({kPlain}, {{1}}, {}), "without a value");
}

}  // namespace
}  // namespace runnel::search
