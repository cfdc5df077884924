#include "search/target_scale.h"

#include <cmath>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

TEST(TargetScale, LeavesWhatIsUsualAndPressesTheRest) {
  const TargetScale scale({0, 1, 2, 3, 4, 5, 6, 7, 8, 1e9});
  EXPECT_EQ(scale.scaled(-3), -3);
  EXPECT_EQ(scale.scaled(9), 9);
  EXPECT_NEAR(scale.scaled(9.01), 9.01, 1e-4);  // Smooth where it begins.
  EXPECT_GT(scale.scaled(1e9), scale.scaled(8));
  EXPECT_LT(scale.scaled(1e9), 100);
}

TEST(TargetScale, EqualValuesStayAsTheyAre) {
  const TargetScale scale({2, 2, 2});
  EXPECT_EQ(scale.scaled(2), 2);
  EXPECT_EQ(scale.scaled(9), 9);
}

TEST(TargetScale, StandardizedHasMeanZeroAndDeviationOne) {
  const std::vector<double> values = standardized({1, 2, 3, 10});
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(squares, 4, 1e-12);
  EXPECT_EQ(standardized({7, 7}), (std::vector<double>{0, 0}));
}

TEST(TargetScaleDeathTest, OfNoValuesIsOurBug) { EXPECT_DEATH(TargetScale({}), "no values"); }

}  // namespace
}  // namespace runnel::search
