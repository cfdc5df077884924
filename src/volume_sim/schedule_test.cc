#include "volume_sim/schedule.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(Schedule, KeepsItsPromises) {
  Outcome all;
  for (std::uint64_t seed = 31; seed <= 50; ++seed) {
    const Outcome one = run_schedule(seed, false);
    EXPECT_EQ(one.violation, "") << "seed " << seed;
    all.publishes += one.publishes;
    all.collections += one.collections;
    all.kills += one.kills;
    all.freezes += one.freezes;
    all.clones += one.clones;
    all.deletions += one.deletions;
    all.resumptions += one.resumptions;
  }
  EXPECT_GT(all.publishes, 200);
  EXPECT_GT(all.collections, 50);
  EXPECT_GT(all.kills, 20);
  EXPECT_GT(all.freezes, 20);
  EXPECT_GT(all.clones, 5);
  EXPECT_GT(all.deletions, 10);
  EXPECT_GT(all.resumptions, 0);
}

TEST(Schedule, IsTheSameForTheSameSeed) {
  const Outcome one = run_schedule(7, false);
  EXPECT_EQ(run_schedule(7, false).hash, one.hash);
  EXPECT_NE(run_schedule(8, false).hash, one.hash);
}

}  // namespace
}  // namespace runnel::volume_sim
