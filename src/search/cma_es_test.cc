#include "search/cma_es.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "search/choice_chances.h"
#include "search/recombination.h"
#include "search/restarts.h"
#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

using Samples = std::vector<std::vector<double>>;

// How many samples until the function is below 1e-10.
template <typename Function>
int samples_needed(Function function, std::size_t axes, std::size_t population) {
  CmaEs run({.mean = std::vector<double>(axes, 0.8), .step = 0.3, .population = population});
  RandomStream stream(5);
  for (int samples = 0; samples < 100'000;) {
    Samples generation;
    for (std::size_t at = 0; at < population; ++at) generation.push_back(run.sample(stream));
    samples += static_cast<int>(population);
    std::ranges::sort(generation, {}, function);
    if (function(generation.front()) < 1e-10) return samples;
    run.update(generation);
  }
  return 100'000;
}

double sphere(const std::vector<double>& at) {
  return std::inner_product(at.begin(), at.end(), at.begin(), 0.0);
}

double ellipsoid(const std::vector<double>& at) {
  double sum = 0;
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    sum += std::pow(1e6, static_cast<double>(axis) / static_cast<double>(at.size() - 1)) *
           at[axis] * at[axis];
  }
  return sum;
}

double valley(const std::vector<double>& at) {
  double sum = 0;
  for (std::size_t axis = 0; axis + 1 < at.size(); ++axis) {
    sum += 100 * std::pow(at[axis + 1] - at[axis] * at[axis], 2) + std::pow(1 - at[axis], 2);
  }
  return sum;
}

// Hansen's own figures are about 1,000, 2,500 and 4,500 for these.
TEST(CmaEs, LearnsTheShapeOfAFunction) {
  EXPECT_LT(samples_needed(sphere, 5, 8), 1'200);
  EXPECT_LT(samples_needed(ellipsoid, 5, 8), 3'500);
  EXPECT_LT(samples_needed(valley, 5, 8), 6'000);
}

TEST(CmaEs, OneDimensionIsEnough) { EXPECT_LT(samples_needed(sphere, 1, 4), 400); }

TEST(CmaEs, AStrangeSampleMovesItNoFurtherThanItsOwn) {
  CmaEs run({.mean = {0, 0}, .step = 0.1, .population = 4});
  run.update({{1e6, 1e6}, {0.1, 0}, {0, 0.1}, {-0.1, 0}});
  EXPECT_LT(std::abs(run.mean()[0]), 1);
  EXPECT_LT(run.deviation(0), 1);
}

TEST(CmaEs, SaysWhenItHasConverged) {
  CmaEs run({.mean = {0.5}, .step = 1e-9, .population = 4});
  EXPECT_TRUE(run.converged(1e-8));
  EXPECT_FALSE(run.converged(1e-10));
}

TEST(Recombination, WeightsFollowTheTutorial) {
  const Recombination constants(6, 9);
  EXPECT_EQ(constants.weights.size(), 9u);
  EXPECT_TRUE(std::ranges::is_sorted(constants.weights, std::ranges::greater{}));
  double positive = 0;
  for (const double weight : constants.weights) positive += std::max(0.0, weight);
  EXPECT_NEAR(positive, 1, 1e-12);
  EXPECT_LT(constants.weights.back(), 0);
  EXPECT_GT(constants.effective, 2);
  EXPECT_LT(constants.rate_one + constants.rate_all, 1);
  EXPECT_NEAR(constants.usual_length, 2.35, 0.01);
}

TEST(ChoiceChances, FavouredValuesComeMoreOftenAndNoneDies) {
  const Space space({testing::choice("c", {"a", "b", "c"}), testing::uniform("x", "0", "1")});
  ChoiceChances chances(space);
  for (int generation = 0; generation < 200; ++generation) {
    chances.favour({2, std::nan("")}, 1);
    chances.favour({std::nan(""), 0.5}, 1);  // Took no part: says nothing.
  }
  RandomStream stream(1);
  std::vector<int> hits(3, 0);
  for (int draw = 0; draw < 10'000; ++draw) {
    const UnitPoint units = chances.draw(stream);
    EXPECT_TRUE(std::isnan(units[1]));
    ++hits[static_cast<std::size_t>(units[0])];
  }
  EXPECT_GT(hits[2], 8'500);
  EXPECT_GT(hits[0], 100);
  EXPECT_GT(hits[1], 100);
}

TEST(Restarts, LargeAndSmallRunsTakeTurns) {
  Restarts restarts(10);
  RandomStream stream(2);
  EXPECT_EQ(restarts.population(), 10u);
  restarts.next(500, stream);
  EXPECT_EQ(restarts.population(), 20u);
  restarts.next(1'000, stream);  // The large one has cost more.
  EXPECT_LE(restarts.population(), 20u);
  EXPECT_LT(restarts.step(), 1);
  restarts.next(2'000, stream);
  EXPECT_EQ(restarts.population(), 40u);
  EXPECT_EQ(restarts.step(), 1);
  for (int run = 0; run < 100; ++run) restarts.next(1, stream);
  EXPECT_LE(restarts.population(), 10 * Restarts::kLargestFactor);
  EXPECT_EQ(restarts.count(), 103u);
}

TEST(CmaEsDeathTest, AGenerationIsWhole) {
  CmaEs run({.mean = {0.5}, .step = 1, .population = 4});
  EXPECT_DEATH(run.update({{1}, {2}}), "another size");
  EXPECT_DEATH(Recombination(3, 1), "nobody to compare");
}

}  // namespace
}  // namespace runnel::search
