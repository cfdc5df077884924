#include "search/parzen.h"

#include <cmath>

#include <gtest/gtest.h>

#include "search/testing/parameters.h"

namespace runnel::search {
namespace {

const double kAbsentHere = std::nan("");

std::vector<const UnitPoint*> pointers(const std::vector<UnitPoint>& points) {
  std::vector<const UnitPoint*> all;
  for (const UnitPoint& point : points) all.push_back(&point);
  return all;
}

double density(const Parzen& parzen, const UnitPoint& at) {
  return std::exp(parzen.log_density(at));
}

TEST(Parzen, IntegratesToOne) {
  const Space space({testing::uniform("x", "0", "1"), testing::choice("c", {"a", "b", "c"})});
  const std::vector<UnitPoint> points = {{0.02, 0}, {0.5, 1}, {0.99, 1}};
  const Parzen parzen(space, pointers(points));
  double sum = 0;
  for (double pick = 0; pick < 3; ++pick) {
    for (int slice = 0; slice < 1'000; ++slice) {
      sum += density(parzen, {(slice + 0.5) / 1'000, pick}) / 1'000;
    }
  }
  EXPECT_NEAR(sum, 1, 1e-3);
}

TEST(Parzen, DrawsWhatItsDensitySays) {
  const Space space({testing::uniform("x", "0", "1")});
  const std::vector<UnitPoint> points = {{0.1}, {0.15}, {0.8}};
  const Parzen parzen(space, pointers(points));
  RandomStream stream(4);
  constexpr int kDrawn = 50'000;
  std::vector<int> hits(10, 0);
  for (int drawn = 0; drawn < kDrawn; ++drawn) {
    ++hits[static_cast<std::size_t>(std::min(9.0, parzen.draw(stream)[0] * 10))];
  }
  for (std::size_t bin = 0; bin < 10; ++bin) {
    double expected = 0;
    for (int slice = 0; slice < 100; ++slice) {
      expected += density(parzen, {(static_cast<double>(bin) + (slice + 0.5) / 100) / 10}) / 1'000;
    }
    EXPECT_NEAR(hits[bin] / double{kDrawn}, expected, 0.012) << bin;
  }
}

TEST(Parzen, WithoutPointsIsUniform) {
  const Space space({testing::uniform("x", "0", "1"), testing::choice("c", {"a", "b"})});
  const Parzen parzen(space, {});
  EXPECT_NEAR(density(parzen, {0.1, 0}), 0.5, 1e-12);
  EXPECT_NEAR(density(parzen, {0.9, 1}), 0.5, 1e-12);
}

// A kernel of the other branch neither favours nor forbids what it knows nothing of.
TEST(Parzen, SaysNothingAboutAxesThatItsPointsLack) {
  const Space space({testing::choice("kind", {"a", "b"}),
                     testing::when(testing::uniform("x", "0", "1"), "kind", {"a"})});
  const std::vector<UnitPoint> points = {{1, kAbsentHere}, {1, kAbsentHere}};
  const Parzen parzen(space, pointers(points));
  EXPECT_NEAR(density(parzen, {0, 0.1}), density(parzen, {0, 0.9}), 1e-12);
  EXPECT_GT(density(parzen, {1, kAbsentHere}), density(parzen, {0, 0.5}));
  double sum = density(parzen, {1, kAbsentHere});
  for (int slice = 0; slice < 100; ++slice) sum += density(parzen, {0, slice / 100.0}) / 100;
  EXPECT_NEAR(sum, 1, 1e-9);
}

}  // namespace
}  // namespace runnel::search
