#include <gtest/gtest.h>

#include "volume_sim/schedule.h"

namespace runnel::volume_sim {
namespace {

TEST(MergeSchedule, NothingThatABranchWasToldIsLostAndAStepIsMergedOnce) {
  Outcome all;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const Outcome one = run_merge_schedule(seed, false);
    ASSERT_EQ(one.violation, "") << "seed " << seed;
    all.add(one);
  }
  EXPECT_GT(all.attempts, 500);
  EXPECT_GT(all.merges, 80);
  EXPECT_GT(all.collections, 60);
  EXPECT_GT(all.kills, 100);
}

// An attempt that gave up its session as another one went on with it took that away; a session that
// a late request brought back became a second branch; a look that went back was taken for new.
TEST(MergeSchedule, WhatWasWrongOnceIsWell) {
  for (const std::uint64_t seed : {444, 317, 336, 822, 3'240}) {
    EXPECT_EQ(run_merge_schedule(seed, false).violation, "") << "seed " << seed;
  }
}

TEST(MergeSchedule, ASeedRepeats) {
  EXPECT_EQ(run_merge_schedule(7, false).hash, run_merge_schedule(7, false).hash);
  EXPECT_NE(run_merge_schedule(7, false).hash, run_merge_schedule(8, false).hash);
}

}  // namespace
}  // namespace runnel::volume_sim
