#include "search/space.h"

#include <cmath>

#include <gtest/gtest.h>

#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

using testing::log_range;
using testing::mixed_parameters;
using testing::when;

const double kNothing = std::nan("");

std::string joined(const Texts& texts) {
  std::string all;
  for (const auto& [name, value] : texts) all += (all.empty() ? "" : " ") + name + "=" + value;
  return all;
}

TEST(Space, SeesParametersAsAxes) {
  const Space space(mixed_parameters());
  ASSERT_EQ(space.size(), 7u);
  EXPECT_EQ(space.axes()[0].count, 3);
  EXPECT_TRUE(space.axes()[1].log);
  EXPECT_EQ(space.axes()[2].parent, 0u);
  EXPECT_EQ(space.axes()[3].parent_picks, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(space.axes()[6].high, 0.6);
  EXPECT_EQ(space.cells(0), 3);
  EXPECT_EQ(space.cells(1), 0);
  EXPECT_EQ(space.cells(4), 21);
  EXPECT_EQ(space.cells(6), 13);
}

TEST(Space, AnAxisTakesPartWithAllItsAncestors) {
  const Space space(mixed_parameters());
  EXPECT_TRUE(space.active({0, 1, 0, 0, 0, 0, 0}, 2));
  EXPECT_FALSE(space.active({1, 1, 0, 0, 0, 0, 0}, 2));
  EXPECT_TRUE(space.active({1, 1, 0, 1, 0, 0, 0}, 4));
  EXPECT_FALSE(space.active({1, 1, 0, 0, 0, 0, 0}, 4));
  EXPECT_FALSE(space.active({0, 1, 0, 1, 0, 0, 0}, 4));  // Its parent does not.
}

TEST(Space, RepairingMovesIntoTheSpace) {
  const Space space(mixed_parameters());
  const Point point = space.repaired({7, 5, 0.5, kNothing, 3, 17.4, 0.33});
  EXPECT_EQ(joined(space.texts(point)),
            "optimizer=lamb rate=1 schedule=flat width=17 dropout=0.35");
  EXPECT_TRUE(std::isnan(point[2]));
  EXPECT_TRUE(std::isnan(point[4]));
}

TEST(Space, WhatIsMissingBecomesTheMiddle) {
  const Space space(mixed_parameters());
  const Point point = space.repaired(Point(7, kNothing));
  EXPECT_EQ(joined(space.texts(point)),
            "optimizer=adam rate=0.003162277660168379 schedule=flat width=126 dropout=0.3");
}

// A parent may stand behind its children.
TEST(Space, ConditionsLookBothWays) {
  const Space space({when(testing::range("depth", "1", "4"), "kind", {"tree"}),
                     testing::choice("kind", {"tree", "line"})});
  EXPECT_EQ(joined(space.texts(space.repaired({9, 0}))), "depth=4 kind=tree");
  EXPECT_EQ(joined(space.texts(space.repaired({9, 1}))), "kind=line");
}

TEST(Space, TextsReadBackTheSame) {
  const Space space(mixed_parameters());
  for (const Point& point : {Point{0, 0.1, 1.0 / 3, kNothing, kNothing, 512, 0.15},
                             Point{2, 1e-5, kNothing, 1, 20, 16, 0.6}}) {
    const Point back = MUST(space.point(space.texts(point)));
    EXPECT_EQ(space.texts(back), space.texts(point));
  }
}

TEST(Space, StepsAreWrittenAsPeopleDo) {
  const Space space({testing::uniform("x", "0.1", "1", "0.1")});
  for (int cell = 0; cell < 10; ++cell) {
    const std::string text = space.texts({space.from_unit(0, cell / 10.0 + 0.05)})[0].second;
    EXPECT_LE(text.size(), 3u) << text;
  }
}

TEST(Space, EndsOfHugeRangesAreWrittenExactly) {
  const Space space({testing::range("n", "-9223372036854775808", "9223372036854775807")});
  EXPECT_EQ(joined(space.texts({space.from_unit(0, 1)})), "n=9223372036854775807");
  EXPECT_EQ(joined(space.texts({space.from_unit(0, 0)})), "n=-9223372036854775808");
}

TEST(Space, RefusesWhatIsNotPossible) {
  const Space space(mixed_parameters());
  const Texts fine = {{"optimizer", "sgd"},
                      {"rate", "0.1"},
                      {"momentum", "0.5"},
                      {"width", "64"},
                      {"dropout", "0.1"}};
  ASSERT_TRUE(space.point(fine));
  const auto field_of = [&](std::size_t at, std::string name, std::string value) {
    Texts texts = fine;
    texts[at] = {std::move(name), std::move(value)};
    const auto refused = space.point(texts);
    return refused.ok() ? std::string("accepted") : refused.error().field;
  };
  EXPECT_EQ(field_of(0, "optimizer", "adagrad"), "params.optimizer");
  EXPECT_EQ(field_of(1, "rate", "2"), "params.rate");
  EXPECT_EQ(field_of(1, "rate", "nan"), "params.rate");
  EXPECT_EQ(field_of(1, "rate", "fast"), "params.rate");
  EXPECT_EQ(field_of(3, "width", "64.5"), "params.width");
  EXPECT_EQ(field_of(4, "dropout", "0.12"), "params.dropout");
  EXPECT_EQ(field_of(2, "speed", "1"), "params.speed");
  EXPECT_EQ(field_of(2, "rate", "0.2"), "params.rate");            // Twice.
  EXPECT_EQ(field_of(2, "warmup", "3"), "params.momentum");        // Missing.
  EXPECT_EQ(field_of(0, "optimizer", "adam"), "params.momentum");  // Without its condition.
}

TEST(Space, APartialPointLeavesTheRestOpen) {
  const Space space(mixed_parameters());
  const Point point = MUST(space.partial_point({{"width", "32"}}));
  EXPECT_EQ(point[5], 32);
  EXPECT_TRUE(std::isnan(point[0]));
  EXPECT_FALSE(space.partial_point({{"width", "3"}}));
}

TEST(Space, UnitsGiveEachValueTheSameShare) {
  const Space space({testing::range("n", "3", "7"), testing::uniform("x", "0", "1", "0.25")});
  for (std::size_t axis = 0; axis < space.size(); ++axis) {
    std::vector<int> hits(5, 0);
    for (int draw = 0; draw < 1'000; ++draw) {
      const double value = space.from_unit(axis, (draw + 0.5) / 1'000);
      const double cell = (space.to_unit(axis, value) - 0.1) * 5;
      ++hits[static_cast<std::size_t>(std::round(cell))];
    }
    EXPECT_EQ(hits, std::vector<int>(5, 200));
  }
}

TEST(Space, UnitsOfLogarithmicAxesAreTheirLogarithms) {
  const Space space({testing::loguniform("rate", "0.01", "100"), log_range("n", "1", "1000")});
  EXPECT_NEAR(space.from_unit(0, 0.25), 0.1, 1e-12);
  EXPECT_NEAR(space.to_unit(0, 10), 0.75, 1e-12);
  EXPECT_EQ(space.from_unit(0, 0), 0.01);
  EXPECT_EQ(space.from_unit(1, 0), 1);
  EXPECT_EQ(space.from_unit(1, 1), 1000);
  for (const double value : {1.0, 2.0, 30.0, 999.0}) {
    EXPECT_EQ(space.from_unit(1, space.to_unit(1, value)), value);
  }
}

TEST(Space, AnAxisOfOneValueHasAMiddle) {
  const Space space({testing::uniform("x", "2", "2"), testing::range("n", "5", "5")});
  EXPECT_EQ(space.to_unit(0, 2), 0.5);
  EXPECT_EQ(space.from_unit(0, 0.9), 2);
  EXPECT_EQ(space.from_unit(1, 0.9), 5);
}

TEST(SpaceDeathTest, WhatAnotherSpaceMadeIsOurBug) {
  const Space space(mixed_parameters());
  EXPECT_DEATH(space.repaired({1, 2}), "another space");
  EXPECT_DEATH(space.to_unit(0, 1), "no order");
  EXPECT_DEATH(Space({when(testing::range("n", "1", "2"), "nobody", {"x"})}), "names no parameter");
}

}  // namespace
}  // namespace runnel::search
