#include "search/explore.h"

#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

using Kind = Axis::Kind;
constexpr double kAbsentValue = std::numeric_limits<double>::quiet_NaN();

// What comes of one coordinate over many keys.
std::set<double> reached(const Axis& axis, double from, std::int32_t resample_percent) {
  std::set<double> out;
  for (std::uint64_t key = 0; key < 400; ++key) {
    out.insert(explored({axis}, {from}, resample_percent, key)[0]);
  }
  return out;
}

TEST(Explore, MovesANumberByAFifth) {
  EXPECT_EQ(reached({.low = -10, .high = 10}, 5, 0), (std::set<double>{4, 6}));
  EXPECT_EQ(reached({.low = -10, .high = 10}, -5, 0), (std::set<double>{-6, -4}));
  EXPECT_EQ(reached({.low = 1, .high = 100, .log = true}, 50, 0), (std::set<double>{40, 60}));
}

TEST(Explore, StaysInside) {
  EXPECT_EQ(reached({.low = 4.5, .high = 5.5}, 5, 0), (std::set<double>{4.5, 5.5}));
}

TEST(Explore, MovesAtLeastToTheNextValue) {
  EXPECT_EQ(reached({.kind = Kind::kInteger, .low = 0, .high = 9}, 2, 0), (std::set<double>{1, 3}));
  EXPECT_EQ(reached({.kind = Kind::kInteger, .low = -9, .high = 9}, 0, 0),
            (std::set<double>{-1, 1}));
  EXPECT_EQ(reached({.low = 0, .high = 2, .step = 0.25}, 0.5, 0), (std::set<double>{0.25, 0.75}));
}

TEST(Explore, MovesACategoryToANeighbour) {
  const Axis words{.kind = Kind::kCategorical, .count = 5};
  EXPECT_EQ(reached(words, 2, 0), (std::set<double>{1, 3}));
  EXPECT_EQ(reached(words, 0, 0), (std::set<double>{1}));
  EXPECT_EQ(reached(words, 4, 0), (std::set<double>{3}));
  EXPECT_EQ(reached({.kind = Kind::kCategorical, .count = 1}, 0, 0), (std::set<double>{0}));
}

TEST(Explore, DrawsAnewAsOftenAsAsked) {
  const Axis words{.kind = Kind::kCategorical, .count = 1'000};
  int moved = 0;
  for (std::uint64_t key = 0; key < 2'000; ++key) {
    moved += std::abs(explored({words}, {500}, 25, key)[0] - 500) == 1 ? 1 : 0;
  }
  EXPECT_NEAR(moved, 1'500, 80);  // The deviation is 19; of those drawn anew 1 is a neighbour too.
  EXPECT_EQ(reached({.kind = Kind::kCategorical, .count = 4}, 0, 100),
            (std::set<double>{0, 1, 2, 3}));
}

TEST(Explore, ParametersMoveIndependently) {
  const Axis words{.kind = Kind::kCategorical, .count = 3};
  std::set<Point> points;
  for (std::uint64_t key = 0; key < 200; ++key)
    points.insert(explored({words, words}, {1, 1}, 0, key));
  EXPECT_EQ(points, (std::set<Point>{{0, 0}, {0, 2}, {2, 0}, {2, 2}}));
}

// The child stands before its parent, and takes part with the parent's second value.
TEST(Explore, WhatBeginsToTakePartIsDrawn) {
  Axis child{.low = 1, .high = 2};
  child.parent = 1;
  child.parent_picks = {1};
  const std::vector<Axis> axes = {child, {.kind = Kind::kCategorical, .count = 2}};
  const Point with = explored(axes, {kAbsentValue, 0}, 0, 7);
  EXPECT_EQ(with[1], 1);
  EXPECT_GE(with[0], 1);
  EXPECT_LE(with[0], 2);
  const Point without = explored(axes, {1.5, 1}, 0, 7);
  EXPECT_EQ(without[1], 0);
  EXPECT_TRUE(std::isnan(without[0]));
}

TEST(ExploreDeathTest, APointOfAnotherSpaceIsOurBug) {
  EXPECT_DEATH((void)explored({Axis()}, {1, 2}, 0, 0), "another space");
}

}  // namespace
}  // namespace runnel::search
