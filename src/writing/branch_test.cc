#include "writing/branch.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "base/check.h"
#include "volume/snapshot.h"
#include "writing/testing/log_disk.h"

namespace runnel::writing {
namespace {

class BranchTest : public ::testing::Test {
 protected:
  void open(std::string base = "v0") {
    stop();
    branch_ = run(Branch::open(
        *loop_, {.files = disk_.open(), .owner = {"uuid", "main"}, .nonce = 7}, std::move(base)));
  }
  void stop() {
    if (branch_) run(branch_->stop());
    branch_.reset();
  }
  void TearDown() override { stop(); }

  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  void change(Change what) { MUST(branch_->change({.request = {}, .change = std::move(what)})); }
  // A file of these bytes, which is committed.
  void make(Inode inode, const std::string& name, const std::string& bytes) {
    if (branch_->overlay().find(volume::kRootInode) == nullptr) {
      change(Adopt{.inode = volume::kRootInode, .kind = volume::NodeKind::kFolder});
    }
    change(Create{.at = {volume::kRootInode, name}, .inode = inode, .target = "", .when = {}});
    change(Write{inode, 0, {}, bytes});
    change(Commit{inode});
  }
  std::string bytes_of(Inode inode) {
    std::string bytes;
    for (const Range& range : branch_->overlay().find(inode)->content.committed_ranges()) {
      bytes += run(branch_->read(range.source.data, range.length));
    }
    return bytes;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  testing::LogDisk disk_;
  std::unique_ptr<Branch> branch_;
};

// Both processes of a mount died, or the machine: the kernel closes nothing any more.
TEST_F(BranchTest, OnceNobodyHasAFileOpenWhatWasWrittenIsCommitted) {
  open();
  make(10, "a", "committed");
  change(Write{10, 0, {}, "since then"});
  change(Create{.at = {volume::kRootInode, "new"}, .inode = 11, .target = "", .when = {}});
  make(12, "gone", "x");
  change(Unlink{{volume::kRootInode, "gone"}, 12, {}});
  MUST(branch_->close_all());
  EXPECT_EQ(bytes_of(10), "since then");
  EXPECT_TRUE(branch_->overlay().find(11)->is_in_version());
  EXPECT_EQ(branch_->overlay().find(12), nullptr) << "nobody has it any more";
  const Sequence last = branch_->last();
  MUST(branch_->close_all());
  EXPECT_EQ(branch_->last(), last) << "nothing is left";
}

TEST_F(BranchTest, BegunOverItIsAnotherVersionWithoutAChange) {
  open("v3");
  make(10, "a", "bytes of a");
  run(branch_->begin_over("v4"));
  const auto expect_v4 = [this] {
    EXPECT_EQ(branch_->overlay().base(), "v4");
    EXPECT_TRUE(branch_->overlay().nodes().empty());
  };
  expect_v4();
  open("v5");
  expect_v4();
  EXPECT_EQ(disk_.numbers().size(), 1U);
  EXPECT_TRUE(disk_.retired().empty());
}

TEST_F(BranchTest, KnowsWhatItsLogHasLost) {
  open();
  make(10, "a", "bytes of a");
  run(branch_->written(branch_->last()));
  EXPECT_EQ(branch_->lost(), 0U);
  stop();
  std::string& segment = disk_.bytes_of(1);
  segment[segment.find("bytes of a")] ^= 1;
  open();
  EXPECT_EQ(branch_->lost(), 1U) << "the commit behind it";
}

TEST_F(BranchTest, KnowsHowLongItsLogIs) {
  open();
  make(10, "a", std::string(100'000, 'a'));
  const std::uint64_t length = branch_->log_bytes();
  EXPECT_GT(length, 100'000U);
  run(branch_->durable(branch_->last()));
  run(branch_->begin_anew(""));
  EXPECT_LT(branch_->log_bytes(), 10'000U) << "the bytes are where they were";
  stop();
  open();
  EXPECT_GT(branch_->log_bytes(), 0U);
}

TEST_F(BranchTest, TheNextOneHasWhatWasWritten) {
  open("v3");
  make(10, "a", "bytes of a");
  EXPECT_EQ(bytes_of(10), "bytes of a") << "in memory";
  run(branch_->written(branch_->last()));
  open("of another base, which it is not asked for");
  EXPECT_EQ(branch_->overlay().base(), "v3");
  EXPECT_EQ(bytes_of(10), "bytes of a");
}

TEST_F(BranchTest, AFullDiskChangesNothingWhenTheLogIsToBeginAnew) {
  open();
  make(10, "a", "bytes of a");
  run(branch_->durable(branch_->last()));
  disk_.set_full(true);
  EXPECT_EQ(loop_->block_on(branch_->begin_anew("")).error().code, Errc::kFull);
  EXPECT_EQ(bytes_of(10), "bytes of a");
  make(11, "b", "goes on in the segment that is there");
  run(branch_->durable(branch_->last()));
  disk_.set_full(false);
  run(branch_->begin_anew(""));
  EXPECT_EQ(bytes_of(11), "goes on in the segment that is there");
}

TEST_F(BranchTest, BegunAnewItHasNoBarrierThatNeverCameThrough) {
  open();
  make(10, "a", "bytes of a");
  change(Barrier{5});
  change(Publishing{5, "v1"});
  run(branch_->begin_anew(""));
  EXPECT_FALSE(branch_->overlay().frozen());
  EXPECT_EQ(branch_->overlay().base(), "v0");
  EXPECT_TRUE(branch_->overlay().has_to_publish());
  open();
  EXPECT_FALSE(branch_->overlay().frozen());
  EXPECT_EQ(bytes_of(10), "bytes of a");
}

TEST_F(BranchTest, BegunAnewItIsOverTheVersionThatCameThrough) {
  open();
  make(10, "a", "bytes of a");
  change(Barrier{5});
  change(Publishing{5, "v1"});
  make(11, "b", "after the barrier");
  disk_.fail_next_sync();
  EXPECT_EQ(loop_->block_on(branch_->durable(branch_->last())).error().code, Errc::kIo);
  EXPECT_EQ(branch_->change({.request = {}, .change = Commit{11}}).error().code, Errc::kIo);
  run(branch_->begin_anew("v1"));
  open();
  EXPECT_EQ(branch_->overlay().base(), "v1");
  EXPECT_EQ(branch_->overlay().find(10), nullptr) << "the base has it";
  EXPECT_EQ(bytes_of(11), "after the barrier");
}

// Old segments are kept for the bytes in them alone.
TEST_F(BranchTest, BegunAnewItLetsGoOfWhatNobodyNeeds) {
  open();
  make(10, "a", "bytes of a");
  run(branch_->durable(branch_->last()));
  run(branch_->begin_anew(""));
  EXPECT_EQ(disk_.retired().size(), 1U) << "its bytes are there";
  change(Unlink{{volume::kRootInode, "a"}, 10, {}});
  change(Closed{10});
  run(branch_->begin_anew(""));
  EXPECT_TRUE(disk_.retired().empty());
}

}  // namespace
}  // namespace runnel::writing
