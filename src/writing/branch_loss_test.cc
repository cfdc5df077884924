// A branch over its log on a disk that is killed and loses power: what a commit or a sync was
// promised is there, whole, and nothing but what was there before the loss.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/random_branch.h"
#include "writing/write_log.h"

namespace runnel::writing {
namespace {

constexpr Bytes kSegmentSize = Bytes::count(kSegmentHeaderBytes + (1 << 20) + 64);

// A log on a disk in memory.
class DiskLog final : public testing::BranchLog {
 public:
  ~DiskLog() override { close(); }

  void open(const RecordVisitor& visit) {
    close();
    WriteLog::Opened opened = MUST(loop_->block_on(
        WriteLog::open(*loop_, disk_.open(), {"uuid", "main"}, 7, visit, kSegmentSize)));
    log_ = std::move(opened.log);
  }
  void close() {
    if (log_) MUST(loop_->block_on(log_->stop()));
    log_.reset();
  }
  LoggedRecord append(Record record) override { return MUST(log_->append(std::move(record))); }
  std::string read(DataPlace place, std::size_t length) const override {
    return MUST(loop_->block_on(log_->read(place, length)));
  }
  void begin_anew(const std::function<std::vector<Record>()>& checkpoint,
                  const RecordVisitor& visit) override {
    MUST(loop_->block_on(log_->begin_anew(checkpoint, visit)));
    ++checkpoints_;
  }
  // By a process that has ended well, but for the last time.
  void replay(const RecordVisitor& visit) override {
    if (!is_killed_) write_all();
    open(visit);
  }

  // What is promised when these return.
  void write_all() { MUST(loop_->block_on(log_->written(log_->last()))); }
  void sync_all() { MUST(loop_->block_on(log_->durable(log_->last()))); }
  void kill() { is_killed_ = true; }
  void cut_power(SplitMix64& dice) {
    kill();
    close();
    disk_.cut_power(dice);
  }
  int checkpoints() const { return checkpoints_; }

 private:
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  testing::LogDisk disk_;
  std::unique_ptr<WriteLog> log_;
  bool is_killed_ = false;
  int checkpoints_ = 0;
};

class BranchLossTest : public ::testing::Test {
 protected:
  // Changes a branch, loses what is not promised, and looks at what is left. The steps that were
  // lost.
  std::size_t lose_once(std::uint64_t seed, bool is_power) {
    SplitMix64 dice(seed * 2 + (is_power ? 1 : 0));
    DiskLog log;
    log.open([](const LoggedRecord&) { return Result<void>(); });
    testing::RandomBranch branch(seed, log);
    std::vector<std::string> seen{branch.seen_text()};
    std::size_t promised = 0;
    log.sync_all();
    for (std::uint64_t steps = 20 + dice.next() % 150; steps > 0; --steps) {
      const int checkpoints = log.checkpoints();
      branch.step();
      seen.push_back(branch.seen_text());
      const std::uint64_t kind = dice.next() % 12;
      if (kind < 2) log.write_all();
      if (kind == 2) log.sync_all();
      const bool is_promised = is_power ? kind == 2 : kind <= 2;
      if (is_promised || log.checkpoints() > checkpoints) promised = seen.size() - 1;
    }
    is_power ? log.cut_power(dice) : log.kill();
    branch.replay();
    checkpoints_ += log.checkpoints();
    const std::string left = branch.seen_text();
    for (std::size_t at = seen.size(); at-- > promised;) {
      if (seen[at] == left) return seen.size() - 1 - at;
    }
    ADD_FAILURE() << "seed " << seed << ": what is left was never there since the promise";
    return 0;
  }

  int checkpoints_ = 0;
};

TEST_F(BranchLossTest, AKillLosesNothingThatWasWritten) {
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) lost += lose_once(seed, false);
  EXPECT_GT(lost, 20U);
  EXPECT_GT(checkpoints_, 20);
}

TEST_F(BranchLossTest, APowerLossLosesNothingThatWasSynced) {
  std::size_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 20 && !HasFailure(); ++seed) lost += lose_once(seed, true);
  EXPECT_GT(lost, 60U);
  EXPECT_GT(checkpoints_, 20);
}

}  // namespace
}  // namespace runnel::writing
