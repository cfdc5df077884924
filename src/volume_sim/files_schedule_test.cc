#include "volume_sim/files_schedule.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

TEST(FilesSchedule, KeepsItsPromises) {
  FilesOutcome all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FilesOutcome one = run_files_schedule(seed, false);
    EXPECT_EQ(one.violation, "") << "seed " << seed;
    all.calls += one.calls;
    all.refused += one.refused;
    all.publishes += one.publishes;
  }
  EXPECT_GT(all.calls, 5'000);
  EXPECT_GT(all.refused, 1'000);
  EXPECT_GT(all.publishes, 200);
}

TEST(FilesSchedule, IsTheSameForTheSameSeed) {
  const FilesOutcome one = run_files_schedule(7, false);
  EXPECT_EQ(run_files_schedule(7, false).hash, one.hash);
  EXPECT_NE(run_files_schedule(8, false).hash, one.hash);
}

}  // namespace
}  // namespace runnel::volume_sim
