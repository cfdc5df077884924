#include "agent/used_mounts.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

class UsedMountsTest : public ::testing::Test {
 protected:
  static runner::AttemptOnNode attempt(std::int64_t task, const std::string& node = "n1") {
    return {NodeId(node), {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)}};
  }
  bool unmount_unused() {
    const auto unmount = [this]() -> Result<void> {
      ++unmounted_;
      return answer_;
    };
    return MUST(mounts_.remove_unused(place_, unmount));
  }

  env::testing::TemporaryDirectory home_;
  UsedMounts mounts_{home_.path()};
  const model::VolumeUse use_{"data", "fashion", "0123456789abcdef", "file:///volumes"};
  const std::string place_ = mounts_.place_of(use_);
  const Time now_ = env::real_clock().wall();
  Result<void> answer_;
  int unmounted_ = 0;
};

TEST_F(UsedMountsTest, OneIsUsedUntilItsLastAttemptHasEnded) {
  EXPECT_FALSE(MUST(UsedMounts::is_used(place_)));
  MUST(mounts_.add(place_, attempt(0)));
  MUST(mounts_.add(place_, attempt(0, "n2")));
  MUST(mounts_.add(place_, attempt(0)));
  EXPECT_TRUE(env::exists(UsedMounts::tree_of(place_)));
  MUST(mounts_.remove(place_, attempt(0)));
  EXPECT_TRUE(MUST(UsedMounts::is_used(place_))) << "on another node";
  EXPECT_FALSE(unmount_unused());
  EXPECT_EQ(unmounted_, 0);
  MUST(mounts_.remove(place_, attempt(0, "n2")));
  MUST(mounts_.remove(place_, attempt(0, "n2")));
  EXPECT_FALSE(MUST(UsedMounts::is_used(place_)));
}

TEST_F(UsedMountsTest, WhatNobodyUsesGoesWhole) {
  MUST(mounts_.add(place_, attempt(0)));
  MUST(mounts_.remove(place_, attempt(0)));
  EXPECT_TRUE(unmount_unused());
  EXPECT_EQ(unmounted_, 1);
  EXPECT_FALSE(env::exists(place_));
  MUST(mounts_.add(place_, attempt(1)));
  EXPECT_TRUE(MUST(UsedMounts::is_used(place_)));
}

TEST_F(UsedMountsTest, OneThatIsBusyStays) {
  MUST(mounts_.add(place_, attempt(0)));
  MUST(mounts_.remove(place_, attempt(0)));
  answer_ = Error(Errc::kConflict, "somebody stands in it");
  EXPECT_FALSE(unmount_unused());
  EXPECT_TRUE(env::exists(place_));
  answer_ = Error(Errc::kIo, "broken");
  EXPECT_FALSE(mounts_.remove_unused(place_, [this] { return answer_; }).ok());
  EXPECT_TRUE(env::exists(place_));
}

TEST_F(UsedMountsTest, WhatReadersCouldNotHaveIsNotedUntilThePlaceGoes) {
  using ReadFailure = UsedMounts::ReadFailure;
  MUST(mounts_.add(place_, attempt(0)));
  EXPECT_EQ(UsedMounts::noted(place_, now_), std::nullopt);
  MUST(UsedMounts::note(place_, ReadFailure::kUnread, "the store is away"));
  EXPECT_EQ(UsedMounts::noted(place_, now_), "the store is away");
  EXPECT_EQ(UsedMounts::noted(place_, now_ + UsedMounts::kSaidEvery + Duration::minutes(1)),
            std::nullopt)
      << "of before the attempt";
  EXPECT_FALSE(UsedMounts::is_damaged(place_));
  MUST(UsedMounts::note(place_, ReadFailure::kDamaged, "a pack"));
  EXPECT_TRUE(UsedMounts::is_damaged(place_));
  EXPECT_EQ(UsedMounts::noted(place_, now_), "a pack");
  MUST(UsedMounts::note(place_, ReadFailure::kDamaged, "another pack"));
  EXPECT_EQ(UsedMounts::noted(place_, now_), "another pack");
  EXPECT_EQ(MUST(env::list_directory(place_)).size(), 4U) << "tree, uses and two notes";
  MUST(mounts_.remove(place_, attempt(0)));
  EXPECT_TRUE(unmount_unused());
  EXPECT_FALSE(UsedMounts::is_damaged(place_));
}

// As the kernel names what is mounted there.
TEST_F(UsedMountsTest, OfAHomeBehindALinkThePlacesAreItsOwn) {
  const env::testing::TemporaryDirectory other;
  const std::string link = other.path() + "/home";
  std::filesystem::create_directory_symlink(home_.path(), link);
  EXPECT_EQ(UsedMounts(link).place_of(use_), place_);
}

TEST_F(UsedMountsTest, VersionsHavePlacesOfTheirOwn) {
  model::VolumeUse other = use_;
  other.version = "fedcba9876543210";
  MUST(mounts_.add(place_, attempt(0)));
  EXPECT_FALSE(MUST(UsedMounts::is_used(mounts_.place_of(other))));
  MUST(mounts_.remove(mounts_.place_of(other), attempt(0)));
  EXPECT_TRUE(MUST(UsedMounts::is_used(place_)));
}

}  // namespace
}  // namespace runnel::agent
