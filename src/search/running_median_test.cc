#include "search/running_median.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "search/permutation.h"

namespace runnel::search {
namespace {

TEST(RunningMedian, IsThatOfTheSortedNumbers) {
  RunningMedian running;
  std::vector<double> sorted;
  for (std::uint64_t number = 0; number < 500; ++number) {
    const auto value = static_cast<double>(derive(3, number) % 100);
    running.add(value);
    sorted.insert(std::upper_bound(sorted.begin(), sorted.end(), value), value);
    const std::size_t middle = sorted.size() / 2;
    const double expected =
        sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    ASSERT_EQ(running.median(), expected) << number;
    ASSERT_EQ(running.count(), number + 1);
  }
}

TEST(RunningMedian, OfTheLargestNumbersIsANumber) {
  RunningMedian running;
  running.add(std::numeric_limits<double>::max());
  running.add(std::numeric_limits<double>::max());
  EXPECT_EQ(running.median(), std::numeric_limits<double>::max());
}

TEST(RunningMedianDeathTest, OfNothingIsOurBug) {
  EXPECT_DEATH((void)RunningMedian().median(), "median of nothing");
}

}  // namespace
}  // namespace runnel::search
