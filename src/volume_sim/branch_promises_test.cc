#include "volume_sim/branch_promises.h"

#include <gtest/gtest.h>

namespace runnel::volume_sim {
namespace {

using Files = BranchPromises::Files;

const Files kNone;
const Files kOne{{"a", "1"}};
const Files kTwo{{"a", "2"}};

class BranchPromisesTest : public ::testing::Test {
 protected:
  BranchPromisesTest() {
    EXPECT_EQ(promises_.begun("task", 1, kNone), "");
    promises_.tries("task", 1, kOne);
  }
  BranchPromises promises_;
};

TEST_F(BranchPromisesTest, WhatWasToldIsThere) {
  EXPECT_EQ(promises_.published("task", 1, kOne), "");
  EXPECT_NE(promises_.begun("task", 2, kNone), "");
  EXPECT_EQ(promises_.begun("task", 2, kOne), "");
}

TEST_F(BranchPromisesTest, WhatWasTriedMayBeThere) {
  EXPECT_EQ(promises_.begun("task", 2, kOne), "");
  EXPECT_NE(promises_.begun("task", 3, kNone), "") << "another attempt has seen it";
}

TEST_F(BranchPromisesTest, NothingIsPublishedBesideTheNextAttempt) {
  EXPECT_EQ(promises_.begun("task", 2, kNone), "");
  EXPECT_NE(promises_.published("task", 1, kOne), "");
}

TEST_F(BranchPromisesTest, WhatWasPublishedBeforeIsToldLate) {
  EXPECT_EQ(promises_.begun("task", 2, kOne), "");
  EXPECT_EQ(promises_.published("task", 1, kOne), "");
  EXPECT_NE(promises_.published("task", 2, kTwo), "") << "nobody has tried it";
}

TEST_F(BranchPromisesTest, AMergeHasWhatWasPublished) {
  EXPECT_EQ(promises_.published("task", 1, kOne), "");
  EXPECT_NE(promises_.merged("task", kNone), "");
  EXPECT_EQ(promises_.merged("task", kOne), "");
  EXPECT_EQ(promises_.merges(), 2);
}

}  // namespace
}  // namespace runnel::volume_sim
