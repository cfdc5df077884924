#include "volume_sim/cache_schedule.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(CacheSchedule, KeepsItsPromises) {
  CacheOutcome all;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const CacheOutcome one = run_cache_schedule(seed);
    EXPECT_EQ(one.violation, "") << "seed " << seed;
    all.kept += one.kept;
    all.served += one.served;
    all.begun += one.begun;
    all.kills += one.kills;
    all.flips += one.flips;
  }
  EXPECT_GT(all.kept, 10'000);
  EXPECT_GT(all.served, 10'000);
  EXPECT_GT(all.begun, 30) << "each of two to four segments";
  EXPECT_GT(all.kills, 5);
  EXPECT_GT(all.flips, 0);
}

TEST(CacheSchedule, IsTheSameForTheSameSeed) {
  const CacheOutcome one = run_cache_schedule(7);
  EXPECT_EQ(run_cache_schedule(7).hash, one.hash);
  EXPECT_NE(run_cache_schedule(8).hash, one.hash);
}

}  // namespace
}  // namespace runnel::volume_sim
