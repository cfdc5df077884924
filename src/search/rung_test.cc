#include "search/rung.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "search/permutation.h"

namespace runnel::search {
namespace {

// The definition: fewer than floor(n / eta) have a better value.
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
        const auto better = std::count_if(sorted.begin(), sorted.end(), [&](const Standing& other) {
          return other.value < sorted[place].value;
        });
        ASSERT_EQ(rung.among_best(sorted[place]),
                  static_cast<std::size_t>(better) < sorted.size() / eta);
      }
    }
  }
}

TEST(Rung, KnowsTheFirst) {
  Rung rung(4);
  rung.enter({5, 3});
  EXPECT_TRUE(rung.is_first({5, 3}));
  rung.enter({5, 7});
  EXPECT_TRUE(rung.is_first({5, 7})) << "nobody is better";
  rung.enter({4, 9});
  EXPECT_TRUE(rung.is_first({4, 9}));
  EXPECT_FALSE(rung.is_first({5, 3}));
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
  EXPECT_DEATH(rung.wait({2, 2}), "did not enter");
  EXPECT_DEATH(Rung(1), "everyone goes on");
}

}  // namespace
}  // namespace runnel::search
