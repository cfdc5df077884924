#include "volume_sim/lease_schedule.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(LeaseSchedule, NobodyPublishesBesideTheHolderAndNothingIsDropped) {
  LeaseOutcome all;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const LeaseOutcome one = run_lease_schedule(seed, false);
    ASSERT_EQ(one.violation, "") << "seed " << seed;
    all.files += one.files;
    all.leases += one.leases;
    all.refused += one.refused;
    all.lost += one.lost;
    all.recovered += one.recovered;
    all.kills += one.kills;
  }
  EXPECT_GT(all.files, 1'000);
  EXPECT_GT(all.leases, 100);
  EXPECT_GT(all.refused, 10);
  EXPECT_GT(all.lost, 5);
  EXPECT_GT(all.recovered, 5);
  EXPECT_GT(all.kills, 50);
}

TEST(LeaseSchedule, ASeedRepeats) {
  EXPECT_EQ(run_lease_schedule(7, false).hash, run_lease_schedule(7, false).hash);
  EXPECT_NE(run_lease_schedule(7, false).hash, run_lease_schedule(8, false).hash);
}

}  // namespace
}  // namespace runnel::volume_sim
