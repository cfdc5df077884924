#include "cli/mount_of_attempts.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "fuse/serve_branch.h"

namespace runnel::cli {
namespace {

using agent::UsedMounts;

TEST(MountOfAttempts, LogsOfBranchesHaveOneName) {
  EXPECT_EQ(UsedMounts::log_name("job.train.3", AttemptNumber(2)),
            fuse::log_of_branch("job.train.3", 2));
}

// The mount of the same attempt that comes next has not published what is written there.
TEST(MountOfAttempts, WhatAMountBeforeHasPublishedSaysNothingOfTheNext) {
  env::testing::TemporaryDirectory home;
  const UsedMounts mounts(home.path());
  const runner::AttemptOnNode of{NodeId("n1"),
                                 {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)}};
  const std::string place =
      mounts.place_of_branch({"out", "results", "", "file:///v"}, "job.train.0", AttemptNumber(1));
  MUST(mounts.add(place, of));
  {
    MountOfAttempts first(home::Home{home.path()}, place);
    first.end(MountOfAttempts::Ends::kPublished);
  }
  EXPECT_TRUE(UsedMounts::is_published(place));
  MountOfAttempts second(home::Home{home.path()}, place);
  EXPECT_FALSE(UsedMounts::is_published(place));
  second.end(MountOfAttempts::Ends::kAsItIs);
  EXPECT_FALSE(UsedMounts::is_published(place)) << "it was not published whole";
}

}  // namespace
}  // namespace runnel::cli
