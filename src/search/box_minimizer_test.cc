#include "search/box_minimizer.h"

#include <cmath>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

double banana(const std::vector<double>& at, std::vector<double>& gradient) {
  const double bend = at[1] - at[0] * at[0];
  gradient[0] = -400 * at[0] * bend - 2 * (1 - at[0]);
  gradient[1] = 200 * bend;
  return 100 * bend * bend + (1 - at[0]) * (1 - at[0]);
}

TEST(BoxMinimizer, FollowsACurvedValley) {
  const Minimum minimum = minimize(banana, {-1.2, 1}, {{-5, -5}, {5, 5}}, 200);
  EXPECT_NEAR(minimum.at[0], 1, 1e-3);
  EXPECT_NEAR(minimum.at[1], 1, 1e-3);
  EXPECT_LT(minimum.value, 1e-6);
}

TEST(BoxMinimizer, StaysInsideAndFindsTheBestOfAFace) {
  const Minimum minimum = minimize(banana, {-1.2, 1}, {{-5, -5}, {0.5, 5}}, 200);
  EXPECT_EQ(minimum.at[0], 0.5);
  EXPECT_NEAR(minimum.at[1], 0.25, 1e-3);
}

TEST(BoxMinimizer, StartsOutsideAreBroughtIn) {
  const Minimum minimum = minimize(banana, {9, 9}, {{2, 0}, {3, 1}}, 100);
  EXPECT_EQ(minimum.at, (std::vector<double>{2, 1}));
}

TEST(BoxMinimizer, ManyAxesOfDifferentScales) {
  const auto bowl = [](const std::vector<double>& at, std::vector<double>& gradient) {
    double sum = 0;
    for (std::size_t axis = 0; axis < at.size(); ++axis) {
      const double scale = std::pow(10, static_cast<double>(axis % 4));
      gradient[axis] = 2 * scale * (at[axis] - 0.3);
      sum += scale * (at[axis] - 0.3) * (at[axis] - 0.3);
    }
    return sum;
  };
  const std::size_t axes = 30;
  const Box box{std::vector<double>(axes, 0), std::vector<double>(axes, 1)};
  const Minimum minimum = minimize(bowl, std::vector<double>(axes, 1), box, 100);
  for (const double value : minimum.at) EXPECT_NEAR(value, 0.3, 1e-3);
}

TEST(BoxMinimizer, NeverRisesAndStopsAtANaN) {
  const auto cliff = [](const std::vector<double>& at, std::vector<double>& gradient) {
    gradient[0] = -1;
    return at[0] > 0.5 ? std::nan("") : -at[0];
  };
  const Minimum minimum = minimize(cliff, {0.1}, {{0}, {1}}, 50);
  EXPECT_GT(minimum.at[0], 0.1);
  EXPECT_LE(minimum.at[0], 0.5);
}

}  // namespace
}  // namespace runnel::search
