#include "search/random_stream.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

constexpr int kDraws = 100'000;

TEST(RandomStream, RepeatsWithItsKeyOnly) {
  RandomStream one(7);
  RandomStream same(7);
  RandomStream other(8);
  for (int draw = 0; draw < 10; ++draw) {
    const std::uint64_t bits = one.bits();
    EXPECT_EQ(bits, same.bits());
    EXPECT_NE(bits, other.bits());
  }
}

TEST(RandomStream, UniformsFillTheUnitIntervalEvenly) {
  RandomStream stream(1);
  std::vector<int> hits(10, 0);
  for (int draw = 0; draw < kDraws; ++draw) {
    const double value = stream.uniform();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    ++hits[static_cast<std::size_t>(value * 10)];
  }
  for (const int count : hits) EXPECT_NEAR(count, kDraws / 10, 500);  // Five deviations.
}

TEST(RandomStream, BelowReachesEachNumberAlike) {
  RandomStream stream(2);
  std::vector<int> hits(7, 0);
  for (int draw = 0; draw < kDraws; ++draw) ++hits[stream.below(7)];
  for (const int count : hits) EXPECT_NEAR(count, kDraws / 7, 600);
  EXPECT_EQ(stream.below(1), 0u);
}

TEST(RandomStream, NormalsHaveTheMomentsOfANormal) {
  RandomStream stream(3);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double value = stream.normal();
    sum += value;
    squares += value * value;
    fourths += std::pow(value, 4);
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.02);
  EXPECT_NEAR(squares / kDraws, 1, 0.03);
  EXPECT_NEAR(fourths / kDraws, 3, 0.2);
}

TEST(RandomStreamDeathTest, ADrawFromNothingIsOurBug) {
  EXPECT_DEATH(RandomStream(1).below(0), "from nothing");
}

}  // namespace
}  // namespace runnel::search
