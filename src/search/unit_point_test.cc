#include "search/unit_point.h"

#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

TEST(UnitPoint, GoesThereAndBack) {
  const Space space(testing::mixed_parameters());
  RandomStream stream(1);
  for (int draw = 0; draw < 100; ++draw) {
    const Point point = random_point(space, stream);
    EXPECT_EQ(space.texts(space.repaired(point)), space.texts(point));
    const Point back = from_units(space, to_units(space, point));
    for (std::size_t axis = 0; axis < space.size(); ++axis) {
      if (space.active(point, axis)) {
        EXPECT_NEAR(back[axis], point[axis], 1e-12 * std::abs(point[axis]));
      } else {
        EXPECT_TRUE(std::isnan(back[axis]));
      }
    }
  }
}

TEST(UnitPoint, EveryRowOfSpreadPointsMeetsEachSliceOnce) {
  const Space space({testing::uniform("x", "0", "1"), testing::loguniform("y", "1", "1000")});
  for (const std::int64_t row : {0, 1, 5}) {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      std::set<int> slices;
      for (std::int64_t number = row * 10; number < row * 10 + 10; ++number) {
        const Point point = spread_point(space, 3, number, 10);
        slices.insert(static_cast<int>(space.to_unit(axis, point[axis]) * 10));
      }
      EXPECT_EQ(slices.size(), 10u);
    }
  }
}

TEST(UnitPoint, SpreadPointsDifferByKeyAndRow) {
  const Space space({testing::uniform("x", "0", "1")});
  EXPECT_NE(spread_point(space, 1, 0, 10), spread_point(space, 2, 0, 10));
  EXPECT_NE(spread_point(space, 1, 0, 10), spread_point(space, 1, 10, 10));
  EXPECT_EQ(spread_point(space, 1, 0, 10), spread_point(space, 1, 0, 10));
}

}  // namespace
}  // namespace runnel::search
