#include "volume_sim/branch_schedule.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(BranchSchedule, KeepsItsPromises) {
  BranchOutcome all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const BranchOutcome one = run_branch_schedule(seed, false);
    EXPECT_EQ(one.violation, "") << "seed " << seed;
    all.changes += one.changes;
    all.publishes += one.publishes;
    all.kills += one.kills;
    all.power_losses += one.power_losses;
    all.lost += one.lost;
    all.failures += one.failures;
  }
  EXPECT_GT(all.changes, 5'000);
  EXPECT_GT(all.publishes, 200);
  EXPECT_GT(all.kills, 60);
  EXPECT_GT(all.power_losses, 10);
  EXPECT_GT(all.lost, 200);
  EXPECT_GT(all.failures, 20);
}

TEST(BranchSchedule, IsTheSameForTheSameSeed) {
  const BranchOutcome one = run_branch_schedule(7, false);
  EXPECT_EQ(run_branch_schedule(7, false).hash, one.hash);
  EXPECT_NE(run_branch_schedule(8, false).hash, one.hash);
}

}  // namespace
}  // namespace runnel::volume_sim
