#include "search/pareto.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "search/genes.h"
#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Pareto, DominatingNeedsToBeBetterSomewhere) {
  EXPECT_TRUE(dominates({1, 2}, {1, 3}));
  EXPECT_FALSE(dominates({1, 2}, {1, 2}));
  EXPECT_FALSE(dominates({1, 2}, {0, 3}));
  EXPECT_TRUE(dominates({1, 2}, {kInfinity, kInfinity}));
}

TEST(Pareto, FrontsArePeeledOneByOne) {
  EXPECT_EQ(fronts_of({{1, 4}, {2, 2}, {4, 1}, {2, 5}, {3, 3}, {5, 5}}),
            (std::vector<std::size_t>{0, 0, 0, 1, 1, 2}));
  EXPECT_TRUE(fronts_of({}).empty());
}

TEST(Pareto, CrowdingIsTheRoomBetweenNeighbours) {
  const std::vector<Values> all = {{0, 10}, {1, 6}, {2, 5}, {10, 0}, {kInfinity, kInfinity}};
  const std::vector<double> crowding = crowding_of(all, fronts_of(all));
  EXPECT_EQ(crowding[0], kInfinity);
  EXPECT_NEAR(crowding[1], 0.2 + 0.5, 1e-12);
  EXPECT_NEAR(crowding[2], 0.9 + 0.6, 1e-12);
  EXPECT_EQ(crowding[3], kInfinity);
}

TEST(Genes, ChildrenStayNearTheirParents) {
  const Space space({testing::uniform("x", "0", "1"), testing::choice("c", {"a", "b", "c"})});
  RandomStream stream(1);
  int near = 0;
  int inherited = 0;
  for (int birth = 0; birth < 1'000; ++birth) {
    const UnitPoint child = child_of(space, {0.4, 0}, {0.5, 2}, stream);
    ASSERT_GE(child[0], 0);
    ASSERT_LE(child[0], 1);
    near += std::abs(child[0] - 0.45) < 0.2 ? 1 : 0;
    inherited += child[1] != 1 ? 1 : 0;
  }
  EXPECT_GT(near, 900);
  EXPECT_GT(inherited, 750);
  EXPECT_LT(inherited, 1'000);  // Some mutate.
}

TEST(Genes, WhatBothParentsLackIsDrawn) {
  const Space space({testing::choice("kind", {"a", "b"}),
                     testing::when(testing::uniform("x", "0", "1"), "kind", {"a"})});
  RandomStream stream(2);
  for (int birth = 0; birth < 100; ++birth) {
    const UnitPoint child = child_of(space, {1, std::nan("")}, {1, std::nan("")}, stream);
    EXPECT_FALSE(std::isnan(child[1]));
  }
}

}  // namespace
}  // namespace runnel::search
