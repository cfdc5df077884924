#include "base/muldiv.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

TEST(MulDiv, RoundsDown) {
  EXPECT_EQ(muldiv(0, 7, 3), 0);
  EXPECT_EQ(muldiv(2, 5, 3), 3);
  EXPECT_EQ(muldiv(3, 5, 3), 5);
}

TEST(MulDiv, IsExactBeyond64BitsInBetween) {
  EXPECT_EQ(muldiv(kMost, kMost, kMost), kMost);
  EXPECT_EQ(muldiv(1'000'000'000'000'000, 86'400'000, 3'600'000), 24'000'000'000'000'000);
}

TEST(MulDiv, StaysAtTheMost) { EXPECT_EQ(muldiv(kMost, 2, 1), kMost); }

TEST(MulDivDeathTest, TakesNoDebts) { EXPECT_DEATH(muldiv(-1, 1, 1), "amounts"); }

}  // namespace
}  // namespace runnel
