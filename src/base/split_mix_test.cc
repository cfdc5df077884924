#include "base/split_mix.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

// As the paper's program prints them for the seed 1234567.
TEST(SplitMix64, GivesTheNumbersThatArePublished) {
  SplitMix64 numbers(1'234'567);
  EXPECT_EQ(numbers.next(), 6457827717110365317U);
  EXPECT_EQ(numbers.next(), 3203168211198807973U);
  EXPECT_EQ(numbers.next(), 9817491932198370423U);
}

TEST(SplitMix64, ScramblesTheSameInEveryBuild) {
  EXPECT_EQ(scramble(1), 0x5692161D100B05E5U);
  EXPECT_EQ(scramble(0), 0U);
}

}  // namespace
}  // namespace runnel
