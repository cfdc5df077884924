#include "search/pareto.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "search/permutation.h"

namespace runnel::search {
namespace {

using Positions = std::vector<std::size_t>;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Small whole numbers, so that ties and equal points are common.
std::vector<Values> scattered(std::size_t count, std::size_t objectives, std::uint64_t key) {
  std::vector<Values> out(count, Values(objectives));
  std::uint64_t number = 0;
  for (Values& values : out) {
    for (double& value : values) value = static_cast<double>(derive(key, ++number) % 12);
  }
  return out;
}

// The definition, word by word: peel off what none of the rest dominates.
std::vector<Positions> peeled(const std::vector<Values>& values) {
  std::vector<Positions> fronts;
  std::vector<bool> gone(values.size(), false);
  for (std::size_t left = values.size(); left > 0;) {
    Positions front;
    for (std::size_t a = 0; a < values.size(); ++a) {
      bool dominated = gone[a];
      for (std::size_t b = 0; b < values.size(); ++b) {
        dominated = dominated || (!gone[b] && dominates(values[b], values[a]));
      }
      if (!dominated) front.push_back(a);
    }
    for (const std::size_t member : front) gone[member] = true;
    left -= front.size();
    fronts.push_back(std::move(front));
  }
  return fronts;
}

TEST(Pareto, DominatesNeedsOneBetterAndNoneWorse) {
  EXPECT_TRUE(dominates({1, 2}, {1, 3}));
  EXPECT_TRUE(dominates({0}, {1}));
  EXPECT_FALSE(dominates({1, 2}, {1, 2}));
  EXPECT_FALSE(dominates({0, 3}, {1, 2}));
  EXPECT_FALSE(dominates({1, 3}, {1, 2}));
}

TEST(Pareto, FrontsAreThoseOfTheDefinition) {
  for (std::uint64_t key = 0; key < 60; ++key) {
    const auto values = scattered(1 + key, 1 + key % 4, key);
    const auto expected = peeled(values);
    ASSERT_EQ(nondominated_fronts(values), expected) << key;
    ASSERT_EQ(pareto_front(values), expected.front()) << key;
  }
}

TEST(Pareto, EqualPointsStandTogether) {
  EXPECT_EQ(pareto_front({{2, 1}, {1, 2}, {2, 1}, {2, 2}}), (Positions{0, 1, 2}));
}

TEST(Pareto, OfNothingIsNothing) {
  EXPECT_TRUE(pareto_front({}).empty());
  EXPECT_TRUE(nondominated_fronts({}).empty());
  EXPECT_TRUE(crowding_distances({}, {}).empty());
}

TEST(Pareto, CrowdingIsTheGapBetweenNeighbours) {
  const std::vector<Values> values = {{4, 0}, {9, 9}, {0, 8}, {1, 4}, {3, 2}};
  const auto distances = crowding_distances(values, {0, 2, 3, 4});
  EXPECT_EQ(distances[0], kInfinite);
  EXPECT_EQ(distances[1], kInfinite);
  EXPECT_DOUBLE_EQ(distances[2], 3.0 / 4 + 6.0 / 8);
  EXPECT_DOUBLE_EQ(distances[3], 3.0 / 4 + 4.0 / 8);
}

TEST(Pareto, CrowdingIgnoresAFlatObjective) {
  const auto distances = crowding_distances({{1, 5}, {2, 5}, {4, 5}}, {0, 1, 2});
  EXPECT_EQ(distances, (std::vector<double>{kInfinite, 1, kInfinite}));
  EXPECT_EQ(crowding_distances({{1, 5}, {1, 5}}, {0, 1}), (std::vector<double>{0, 0}));
}

TEST(Pareto, CrowdingOfTheLargestNumbersIsANumber) {
  const double most = std::numeric_limits<double>::max();
  const auto distances = crowding_distances({{-most, 1}, {0, 0}, {most, -1}}, {0, 1, 2});
  EXPECT_DOUBLE_EQ(distances[1], 2);
}

TEST(ParetoDeathTest, ResultsOfDifferentSearchesAreOurBug) {
  EXPECT_DEATH((void)dominates({1}, {1, 2}), "different numbers of objectives");
}

}  // namespace
}  // namespace runnel::search
