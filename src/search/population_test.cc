#include "search/population.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

const std::vector<Axis> kOneNumber = {{.low = 0, .high = 1'000}};

// `count` members at points 100, 110, 120, ...
Population population_of(std::int64_t count, std::int32_t quantile_percent,
                         std::uint64_t seed = 1) {
  Population population({.every = 10, .quantile_percent = quantile_percent, .resample_percent = 0},
                        kOneNumber, seed);
  for (std::int64_t trial = 0; trial < count; ++trial) {
    population.moved(trial, {100 + 10 * static_cast<double>(trial)});
  }
  return population;
}

TEST(Population, JudgesAtEachMultiple) {
  const Population population = population_of(1, 25);
  EXPECT_EQ(population.next_step(0, 0), 10);
  EXPECT_EQ(population.next_step(0, 9), 10);
  EXPECT_EQ(population.next_step(0, 10), 20);
  EXPECT_EQ(population.next_step(0, 9'223'372'036'854'775'805), std::nullopt);
}

TEST(Population, TheWorstQuarterTakesOverTheBest) {
  Population population = population_of(8, 25);
  for (std::int64_t trial = 0; trial < 6; ++trial) {
    EXPECT_FALSE(population.reported(trial, 10, static_cast<double>(trial)) && trial == 0);
  }
  EXPECT_FALSE(population.reported(6, 10, 2.5));  // One of 7 is the worst: 5.
  const auto exploit = population.reported(7, 10, 4.5);
  ASSERT_TRUE(exploit);  // Two of 8 are: 4.5 and 5.
  EXPECT_TRUE(exploit->donor == 0 || exploit->donor == 1);
  const double from = exploit->donor == 0 ? 100 : 110;
  EXPECT_TRUE(exploit->point[0] == from * 0.8 || exploit->point[0] == from * 1.2);
}

TEST(Population, EachOfTheBestIsChosenBySomeSeed) {
  std::map<std::int64_t, int> chosen;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    Population population = population_of(8, 50, seed);
    for (std::int64_t trial = 0; trial < 7; ++trial) {
      (void)population.reported(trial, 10, static_cast<double>(trial));
    }
    ++chosen[population.reported(7, 10, 7)->donor];
  }
  ASSERT_EQ(chosen.size(), 4u);
  for (const auto& [donor, count] : chosen) EXPECT_NEAR(count, 150, 50);  // The deviation is 11.
}

TEST(Population, OneAloneIsLeftInPeace) {
  Population population = population_of(3, 50);
  EXPECT_FALSE(population.reported(0, 10, 1));
  EXPECT_FALSE(population.reported(0, 20, 9));
}

TEST(Population, OfEqualOnesTheLaterIsTheWorse) {
  Population population = population_of(2, 50);
  EXPECT_FALSE(population.reported(1, 10, 3));
  EXPECT_FALSE(population.reported(0, 10, 3));
  const auto exploit = population.reported(1, 20, 3);
  ASSERT_TRUE(exploit);
  EXPECT_EQ(exploit->donor, 0);
}

TEST(Population, OneReportCountsForOneMultiple) {
  Population population = population_of(2, 50);
  EXPECT_FALSE(population.reported(0, 10, 1));
  ASSERT_TRUE(population.reported(1, 13, 2));
  EXPECT_FALSE(population.reported(1, 14, 2));  // Before the next multiple.
  EXPECT_TRUE(population.reported(1, 47, 2));   // It passed three.
}

TEST(Population, OneThatMovedHasNoReport) {
  Population population = population_of(3, 50);
  EXPECT_FALSE(population.reported(0, 10, 1));
  const auto exploit = population.reported(1, 10, 2);
  ASSERT_TRUE(exploit);
  population.moved(1, exploit->point);
  EXPECT_TRUE(population.reported(2, 10, 3));   // Between 0 and itself alone.
  EXPECT_FALSE(population.reported(1, 20, 0));  // The best of three now,
  const auto next = population.reported(0, 20, 1.5);
  EXPECT_FALSE(next);  // and 2 is the worst.
  const auto last = population.reported(2, 20, 3);
  ASSERT_TRUE(last);
  EXPECT_EQ(last->donor, 1);
  EXPECT_TRUE(last->point[0] == exploit->point[0] * 0.8 ||
              last->point[0] == exploit->point[0] * 1.2);
}

// Or it would train one interval over and over, as long as the donor stands still.
TEST(Population, WhatWasTakenOverOnceIsNotTakenAgain) {
  Population population = population_of(2, 50);
  EXPECT_FALSE(population.reported(0, 20, 1));
  ASSERT_TRUE(population.reported(1, 20, 2));
  population.moved(1, {100});
  EXPECT_FALSE(population.reported(1, 21, 2)) << "it is not ready";
  EXPECT_FALSE(population.reported(1, 30, 2)) << "the donor has reported nothing since";
  EXPECT_FALSE(population.reported(0, 30, 1));
  EXPECT_TRUE(population.reported(1, 40, 2));
}

TEST(Population, WhatWasOnlyOfferedIsOfferedAgain) {
  Population population = population_of(2, 50);
  EXPECT_FALSE(population.reported(0, 20, 1));
  ASSERT_TRUE(population.reported(1, 20, 2));
  EXPECT_TRUE(population.reported(1, 30, 2));
}

TEST(Population, StepsMayBeginAgainAfterAMove) {
  Population population = population_of(2, 50);
  EXPECT_FALSE(population.reported(0, 10, 1));
  ASSERT_TRUE(population.reported(1, 90, 2));
  population.moved(1, {5});  // From 0's checkpoint of step 10.
  EXPECT_FALSE(population.reported(0, 20, 1));
  EXPECT_TRUE(population.reported(1, 20, 3));
}

TEST(Population, WhoEndedIsNoDonor) {
  Population population = population_of(3, 50);
  (void)population.reported(0, 10, 1);
  (void)population.reported(1, 10, 2);
  population.ended(0);
  population.ended(0);
  const auto exploit = population.reported(2, 10, 3);
  ASSERT_TRUE(exploit);
  EXPECT_EQ(exploit->donor, 1);
}

TEST(Population, ToldAgainDecidesTheSame) {
  std::vector<Point> runs[2];
  for (auto& run : runs) {
    Population population({.every = 5, .quantile_percent = 30, .resample_percent = 50}, kOneNumber,
                          9);
    for (std::int64_t trial = 0; trial < 10; ++trial) population.moved(trial, {500});
    for (std::int64_t call = 0; call < 300; ++call) {
      const std::int64_t trial = call * 7 % 10;
      const auto value = static_cast<double>(call * call % 97);
      const auto exploit = population.reported(trial, 5 * (1 + call / 10), value);
      if (!exploit) continue;
      run.push_back(exploit->point);
      population.moved(trial, exploit->point);
    }
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_GT(std::set<Point>(runs[0].begin(), runs[0].end()).size(), 20u);
}

TEST(PopulationDeathTest, WhatNeverBeganIsNoMember) {
  EXPECT_DEATH(
      {
        Population population = population_of(1, 25);
        (void)population.reported(5, 10, 1);
      },
      "no member");
  EXPECT_DEATH(Population({.quantile_percent = 51}, kOneNumber, 0), "best and the worst");
}

}  // namespace
}  // namespace runnel::search
