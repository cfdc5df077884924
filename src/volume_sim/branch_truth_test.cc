#include "volume_sim/branch_truth.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "base/check.h"
#include "writing/testing/log_disk.h"

namespace runnel::volume_sim {
namespace {

// A branch in memory whose log may lose what it should not.
class BranchTruthTest : public ::testing::Test {
 protected:
  std::string open(BranchTruth::Loss loss = BranchTruth::Loss::kProcess) {
    stop();
    branch_ = MUST(loop_->block_on(writing::Branch::open(
        *loop_, {.files = disk_.open(), .owner = {"uuid", "main"}, .nonce = 7}, "")));
    return truth_.opened(*branch_, loss);
  }
  void stop() {
    if (branch_) MUST(loop_->block_on(branch_->stop()));
    branch_.reset();
  }
  void TearDown() override { stop(); }
  void change(int times) {
    for (int count = 0; count < times; ++count) ASSERT_TRUE(truth_.change(*branch_));
  }
  void write() { MUST(loop_->block_on(branch_->written(branch_->last()))); }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  writing::testing::LogDisk disk_;
  std::unique_ptr<writing::Branch> branch_;
  BranchTruth truth_{3};
};

TEST_F(BranchTruthTest, GoesBackToWhatTheLogHas) {
  ASSERT_EQ(open(), "");
  change(40);
  write();
  truth_.is_written(branch_->last());
  const std::string written = text(truth_.model().now());
  change(40);
  EXPECT_NE(text(truth_.model().now()), written);
  EXPECT_EQ(open(), "");
  EXPECT_EQ(text(truth_.model().now()), written);
  EXPECT_GT(truth_.lost(), 0);
}

TEST_F(BranchTruthTest, SaysThatALogHasLostWhatItPromised) {
  ASSERT_EQ(open(), "");
  change(40);
  truth_.is_written(branch_->last());  // It was not.
  EXPECT_NE(open().find("was promised"), std::string::npos);
}

TEST_F(BranchTruthTest, APowerLossMayTakeWhatWasOnlyWritten) {
  ASSERT_EQ(open(), "");
  MUST(loop_->block_on(branch_->durable(branch_->last())));
  truth_.is_durable(branch_->last());
  change(40);
  write();
  truth_.is_written(branch_->last());
  SplitMix64 dice(5);
  stop();
  disk_.cut_power(dice);
  EXPECT_EQ(open(BranchTruth::Loss::kPower), "");
}

TEST_F(BranchTruthTest, AVersionIsTheBranchAtItsBarrier) {
  ASSERT_EQ(open(), "");
  change(60);
  const std::string at_barrier = text(truth_.model().version());
  const writing::Sequence number = branch_->last() + 1;
  MUST(branch_->change({.request = {}, .change = writing::Barrier{number}}));
  change(20);
  MUST(branch_->change({.request = {}, .change = writing::Publishing{number, "v1"}}));
  truth_.look(*branch_);
  EXPECT_EQ(text(truth_.versions().at("v1")), at_barrier);
  MUST(branch_->change({.request = {}, .change = writing::Published{number, "v1"}}));
  truth_.look(*branch_);
  change(20);
  EXPECT_EQ(*branch_->overlay().base(), "v1");
}

}  // namespace
}  // namespace runnel::volume_sim
