#include "search/scale.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

using Kind = Axis::Kind;

const Axis kThreeWords{.kind = Kind::kCategorical, .count = 3};
const Axis kFourIntegers{.kind = Kind::kInteger, .low = -1, .high = 2};
const Axis kPowers{.kind = Kind::kInteger, .low = 1, .high = 1024, .log = true};
const Axis kInterval{.low = -2, .high = 6};
const Axis kTenths{.low = 0, .high = 0.3, .step = 0.1};
const Axis kRates{.low = 1e-4, .high = 1e-2, .log = true};

TEST(Scale, EveryCountedValueHasTheSameShare) {
  for (const Axis& axis : {kThreeWords, kFourIntegers, kTenths}) {
    const double count = count_of(axis);
    for (int cell = 0; cell < static_cast<int>(count); ++cell) {
      const double middle = (cell + 0.5) / count;
      const double value = value_of(axis, middle);
      EXPECT_EQ(value_of(axis, middle - 0.4 / count), value);
      EXPECT_EQ(value_of(axis, middle + 0.4 / count), value);
      EXPECT_DOUBLE_EQ(unit_of(axis, value), middle);
    }
  }
  EXPECT_EQ(count_of(kThreeWords), 3);
  EXPECT_EQ(count_of(kFourIntegers), 4);
  EXPECT_EQ(count_of(kTenths), 4);  // 0.3 / 0.1 is less than 3 in binary.
  EXPECT_EQ(count_of(kInterval), 0);
}

TEST(Scale, GoesThereAndBack) {
  for (const Axis& axis : {kThreeWords, kFourIntegers, kPowers, kInterval, kTenths, kRates}) {
    for (int place = 0; place <= 20; ++place) {
      const double value = value_of(axis, place / 20.0);
      const double again = value_of(axis, unit_of(axis, value));
      EXPECT_NEAR(again, value, 1e-12);
      EXPECT_EQ(nearest_value(axis, value), value);
    }
  }
}

TEST(Scale, EndsAreReached) {
  EXPECT_EQ(value_of(kFourIntegers, 0), -1);
  EXPECT_EQ(value_of(kFourIntegers, 1), 2);
  EXPECT_EQ(value_of(kPowers, 0), 1);
  EXPECT_EQ(value_of(kPowers, 1), 1024);
  EXPECT_EQ(value_of(kInterval, 1), 6);
  EXPECT_NEAR(value_of(kRates, 0.5), 1e-3, 1e-15);
}

TEST(Scale, NearestIsInsideAndOnAStep) {
  EXPECT_EQ(nearest_value(kThreeWords, 7), 2);
  EXPECT_EQ(nearest_value(kFourIntegers, 0.6), 1);
  EXPECT_EQ(nearest_value(kInterval, -3), -2);
  EXPECT_DOUBLE_EQ(nearest_value(kTenths, 0.24), 0.2);
  EXPECT_DOUBLE_EQ(nearest_value(kTenths, 9), 0.3);
}

TEST(Scale, WidestIntervalHasAMiddle) {
  const double most = std::numeric_limits<double>::max();
  const Axis widest{.low = -most, .high = most};
  EXPECT_EQ(value_of(widest, 0.5), 0);
  EXPECT_EQ(unit_of(widest, 0), 0.5);
}

TEST(Scale, AnAxisOfOneValueHasOnlyThat) {
  const Axis one{.low = 3, .high = 3};
  EXPECT_EQ(value_of(one, 0.9), 3);
  EXPECT_EQ(unit_of(one, 3), 0.5);
}

// 2 hangs on 1, which hangs on 0.
TEST(Scale, AnAxisTakesPartWithAllItsAncestors) {
  Axis child = kThreeWords;
  child.parent = 0;
  child.parent_picks = {0, 2};
  Axis grandchild = kInterval;
  grandchild.parent = 1;
  grandchild.parent_picks = {1};
  const std::vector<Axis> axes = {kThreeWords, child, grandchild};
  EXPECT_TRUE(takes_part(axes, {2, 1, 0}, 2));
  EXPECT_FALSE(takes_part(axes, {2, 0, 0}, 2));
  EXPECT_FALSE(takes_part(axes, {1, 1, 0}, 2));
  EXPECT_FALSE(takes_part(axes, {1, 1, 0}, 1));
  EXPECT_TRUE(takes_part(axes, {1, 1, 0}, 0));
}

TEST(ScaleDeathTest, APlaceOutsideIsOurBug) {
  EXPECT_DEATH((void)value_of(kInterval, 1.5), "after the scale ends");
  EXPECT_DEATH((void)value_of(kInterval, -0.5), "before the scale begins");
}

}  // namespace
}  // namespace runnel::search
