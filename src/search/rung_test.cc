#include "search/rung.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "search/permutation.h"

namespace runnel::search {
namespace {

// The definition: the position in sorted order is below floor(n / eta).
TEST(Rung, KnowsItsBestAtEveryMoment) {
  for (const std::size_t eta : {2, 3, 4, 16}) {
    Rung rung(static_cast<std::int32_t>(eta));
    std::vector<Standing> sorted;
    for (std::int64_t trial = 0; trial < 150; ++trial) {
      const auto value = static_cast<double>(derive(eta, static_cast<std::uint64_t>(trial)) % 40);
      rung.enter({value, trial});
      sorted.push_back({value, trial});
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t place = 0; place < sorted.size(); ++place) {
        ASSERT_EQ(rung.among_best(sorted[place]), place < sorted.size() / eta);
      }
    }
  }
}

TEST(Rung, LetsNoMoreGoOnThanThereAreBest) {
  Rung rung(2);
  rung.enter({5, 0});
  EXPECT_FALSE(rung.has_place());
  rung.enter({4, 1});
  EXPECT_TRUE(rung.has_place());
  rung.go_on();
  rung.enter({3, 2});  // Better than who went on, and too late for now.
  rung.wait({3, 2});
  EXPECT_TRUE(rung.among_best({3, 2}));
  EXPECT_EQ(rung.promotable(), std::nullopt);
  rung.enter({9, 3});
  EXPECT_EQ(rung.promotable(), (Standing{3, 2}));
}

TEST(Rung, PromotesTheFirstOfThoseWhoWait) {
  Rung rung(2);
  for (const Standing& standing :
       {Standing{2, 5}, Standing{2, 4}, Standing{8, 1}, Standing{9, 2}}) {
    rung.enter(standing);
    rung.wait(standing);
  }
  EXPECT_EQ(rung.promotable(), (Standing{2, 4}));
  rung.leave({2, 4});
  EXPECT_EQ(rung.promotable(), (Standing{2, 5}));
  rung.leave({2, 5});
  EXPECT_EQ(rung.promotable(), std::nullopt);  // 8 waits, but is not among the two best.
}

TEST(RungDeathTest, BrokenContracts) {
  Rung rung(2);
  rung.enter({1, 1});
  EXPECT_DEATH(rung.enter({1, 1}), "entered a rung twice");
  EXPECT_DEATH(rung.go_on(), "more trials go on");
  EXPECT_DEATH(rung.wait({2, 2}), "did not enter");
  EXPECT_DEATH(Rung(1), "everyone goes on");
}

}  // namespace
}  // namespace runnel::search
