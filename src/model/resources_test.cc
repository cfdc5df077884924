#include "model/resources.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

Resources of(std::int64_t milli_cpus, Bytes memory,
             std::map<std::string, std::int64_t> accelerators) {
  return Resources{milli_cpus, memory, std::move(accelerators)};
}

TEST(Resources, FitsWhenEachAmountDoes) {
  const Resources node = of(4000, Bytes::gibi(8), {{"H100", 2}});
  EXPECT_TRUE(Resources().fits_in(node));
  EXPECT_TRUE(node.fits_in(node));
  EXPECT_TRUE(of(1, Bytes(), {}).fits_in(node));
  EXPECT_FALSE(of(4001, Bytes(), {}).fits_in(node));
  EXPECT_FALSE(of(0, Bytes::gibi(8) + Bytes::count(1), {}).fits_in(node));
  EXPECT_FALSE(of(0, Bytes(), {{"H100", 3}}).fits_in(node));
  EXPECT_FALSE(of(0, Bytes(), {{"A100", 1}}).fits_in(node));
  EXPECT_TRUE(of(0, Bytes(), {{"A100", 0}}).fits_in(node));
}

TEST(Resources, TimesInIsBoundByTheScarcest) {
  const Resources node = of(4000, Bytes::gibi(8), {{"H100", 2}});
  EXPECT_EQ(of(1000, Bytes::gibi(1), {}).times_in(node, 100), 4);
  EXPECT_EQ(of(1000, Bytes::gibi(3), {}).times_in(node, 100), 2);
  EXPECT_EQ(of(100, Bytes(), {{"H100", 1}}).times_in(node, 100), 2);
  EXPECT_EQ(of(100, Bytes(), {{"A100", 1}}).times_in(node, 100), 0);
  EXPECT_EQ(of(1, Bytes(), {}).times_in(node, 7), 7);
  EXPECT_EQ(Resources().times_in(node, 7), 7);
  EXPECT_EQ(Resources().times_in(node, 0), 0);
  EXPECT_EQ(of(1, Bytes(), {}).times_in(Resources(), 7), 0);
}

// times_in() is the largest number of copies that fits.
TEST(Resources, TimesInAgreesWithFitsIn) {
  const Resources node = of(4000, Bytes::mebi(1000), {{"H100", 5}});
  for (std::int64_t cpus = 0; cpus <= 2000; cpus += 250) {
    for (std::int64_t devices = 0; devices <= 3; ++devices) {
      const Resources one = of(cpus, Bytes::mebi(cpus / 3), {{"H100", devices}});
      const std::int64_t times = one.times_in(node, 50);
      EXPECT_TRUE(one.times(times).fits_in(node)) << one.describe();
      if (times < 50) {
        EXPECT_FALSE(one.times(times + 1).fits_in(node)) << one.describe();
      }
    }
  }
}

TEST(Resources, AddAndSubtractUndoEachOther) {
  const Resources start = of(4000, Bytes::gibi(8), {{"A100", 1}, {"H100", 2}});
  const Resources taken = of(500, Bytes::gibi(3), {{"H100", 2}});
  Resources free = start;
  free.subtract(taken);
  EXPECT_EQ(free, of(3500, Bytes::gibi(5), {{"A100", 1}}));
  free.add(taken);
  EXPECT_EQ(free, start);
}

TEST(Resources, BeyondIsWhatExceeds) {
  const Resources some = of(3000, Bytes::gibi(4), {{"H100", 2}, {"A100", 1}});
  const Resources other = of(1000, Bytes::gibi(8), {{"H100", 3}});
  EXPECT_EQ(some.beyond(other), of(2000, Bytes(), {{"A100", 1}}));
  EXPECT_EQ(other.beyond(some), of(0, Bytes::gibi(4), {{"H100", 1}}));
  EXPECT_EQ(some.beyond(some), Resources());
}

TEST(Resources, ZeroOfAnAcceleratorIsNoEntry) {
  Resources some = of(1, Bytes(), {});
  some.add(of(0, Bytes(), {{"H100", 0}}));
  some.subtract(of(0, Bytes(), {{"H100", 0}}));
  EXPECT_TRUE(some.accelerators.empty());
  EXPECT_TRUE(of(0, Bytes(), {{"H100", 4}}).times(0).accelerators.empty());
}

TEST(Resources, TimesMultipliesEachAndNeverWraps) {
  const Resources one = of(1500, Bytes::gibi(2), {{"H100", 4}});
  EXPECT_EQ(one.times(3), of(4500, Bytes::gibi(6), {{"H100", 12}}));
  EXPECT_EQ(one.times(1), one);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Resources huge = one.times(kMost);
  EXPECT_EQ(huge.milli_cpus, kMost);
  EXPECT_FALSE(huge.fits_in(one));
}

TEST(Resources, TheLimitsOfAPlaceLeaveRoomForAGang) {
  constexpr std::int64_t kPlaces = 100'000;
  const Resources most = of(kMilliCpusMax, kMemoryMax, {{"H100", kAcceleratorsMax}});
  const Resources gang = most.times(kPlaces);
  EXPECT_EQ(gang.memory.count() / kPlaces, kMemoryMax.count());
  EXPECT_EQ(most.times_in(gang, kPlaces + 1), kPlaces);
}

TEST(Resources, DescribesItselfForPeople) {
  EXPECT_EQ(of(2000, Bytes::gibi(4), {{"H100", 1}}).describe(),
            "2 cpus, " + human(Bytes::gibi(4)) + ", 1 H100");
  EXPECT_EQ(of(1000, Bytes(), {}).describe(), "1 cpu");
  EXPECT_EQ(of(500, Bytes(), {}).describe(), "0.5 cpus");
  EXPECT_EQ(of(1250, Bytes(), {}).describe(), "1.25 cpus");
  EXPECT_EQ(of(1005, Bytes(), {}).describe(), "1.005 cpus");
  EXPECT_EQ(of(0, Bytes(), {{"A100", 2}, {"H100", 0}}).describe(), "2 A100");
  EXPECT_EQ(Resources().describe(), "nothing");
}

TEST(ResourcesDeathTest, TakingMoreThanThereIsIsOurBug) {
  Resources free = of(1000, Bytes::gibi(1), {{"H100", 1}});
  EXPECT_DEATH(free.subtract(of(1001, Bytes(), {})), "more than there is");
  EXPECT_DEATH(free.subtract(of(0, Bytes::gibi(2), {})), "more than there is");
  EXPECT_DEATH(free.subtract(of(0, Bytes(), {{"H100", 2}})), "more than there is");
  EXPECT_DEATH(free.subtract(of(0, Bytes(), {{"A100", 1}})), "not there");
  EXPECT_DEATH(free.subtract(of(-1, Bytes(), {})), "negative");
  EXPECT_DEATH(free.add(of(-1, Bytes(), {})), "negative");
  EXPECT_DEATH(free.add(of(std::numeric_limits<std::int64_t>::max(), Bytes(), {})), "limits");
}

}  // namespace
}  // namespace runnel::model
