#include "agent/patient_reads.h"

#include <unistd.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

#include <gtest/gtest.h>

#include "agent/testing/dead_mount.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

using testing::DeadMount;

constexpr Duration kShortPatience = Duration::millis(300);

// Something that a read waits for, as it would for a mount that is dead until then.
using Stall = std::shared_ptr<std::counting_semaphore<1'024>>;

class PatientReadsTest : public ::testing::Test {
 protected:
  Async<int> quick(std::string folder) {
    return reads_.run<int>(std::move(folder), [] { return Result<int>(7); });
  }
  Async<int> stalled(std::string folder) {
    return reads_.run<int>(std::move(folder), [stall = stall_] {
      stall->acquire();
      return Result<int>(8);
    });
  }
  Async<void> count(Async<int> reading) {
    const Result<int> read = co_await std::move(reading);
    if (!read.ok() && read.error().code == Errc::kUnavailable) ++silent_;
    if (read.ok()) ++answered_;
    co_return {};
  }
  void pass(Duration time) { (void)loop_->block_on(loop_->sleep(time)); }
  Result<int> ask(Async<int> reading) { return loop_->block_on(std::move(reading)); }

  int silent_ = 0;
  int answered_ = 0;
  Stall stall_ = std::make_shared<std::counting_semaphore<1'024>>(0);
  env::testing::TemporaryDirectory folder_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  PatientReads reads_{*loop_, env::real_clock(), "reads", kShortPatience};
};

TEST_F(PatientReadsTest, AnswerAsTheReadDoes) {
  EXPECT_EQ(MUST(ask(quick("/a"))), 7);
  const auto fails = [] { return Result<int>(Error(Errc::kNotFound, "is not there")); };
  EXPECT_EQ(ask(reads_.run<int>("/a", fails)).error().code, Errc::kNotFound);
}

TEST_F(PatientReadsTest, OneThatStandsStillIsGivenUpAndHoldsUpNoOther) {
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, count(stalled("/a"))));
  MUST(loop_->spawn(gate, count(quick("/a"))));  // Waits for the one before, in vain.
  EXPECT_EQ(MUST(ask(quick("/b"))), 7);
  EXPECT_EQ(silent_, 0);
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(silent_, 2);
  const Duration begun = env::real_clock().boot();
  const Result<int> refused = ask(quick("/a"));
  EXPECT_LT(env::real_clock().boot() - begun, kShortPatience);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("/ has not answered since 20"), std::string::npos)
      << refused.error().message;
  // When it answers after all, it is asked again.
  stall_->release();
  pass(Duration::millis(50));
  EXPECT_EQ(MUST(ask(quick("/a"))), 7);
}

TEST_F(PatientReadsTest, OneThatGetsOnIsNeverGivenUpAndTheOthersWait) {
  const auto over = std::make_shared<std::atomic<bool>>(false);
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, count(reads_.run<int>("/a", [over] {
                      while (!*over) {
                      }
                      return Result<int>(9);
                    }))));
  MUST(loop_->spawn(gate, count(quick("/b"))));
  pass(kShortPatience * 2);
  EXPECT_EQ(silent_ + answered_, 0);
  *over = true;
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(answered_, 2);
}

// Those whose work other processes do wait for no other folder, only for their own.
TEST_F(PatientReadsTest, ThoseThatTakeTurnsPerFolderWaitForNoOther) {
  PatientReads reads(*loop_, env::real_clock(), "reads", Duration::minutes(1),
                     PatientReads::Turns::kPerFolder);
  const auto works_on = [stall = stall_] {
    while (!stall->try_acquire()) {
    }
    return Result<int>(8);
  };
  const auto answers = [] { return Result<int>(7); };
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, count(reads.run<int>("/a", works_on))));
  MUST(loop_->spawn(gate, count(reads.run<int>("/a", answers))));
  EXPECT_EQ(MUST(ask(reads.run<int>("/b", answers))), 7);
  EXPECT_EQ(answered_, 0) << "the first is at work";
  stall_->release();
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(answered_, 2);
}

TEST_F(PatientReadsTest, AGroupThatStandsStillLeavesOthersTheirThreads) {
  PatientReads reads(*loop_, env::real_clock(), "reads", Duration::minutes(1),
                     PatientReads::Turns::kPerFolder);
  const auto stalls = [stall = stall_](PathTrail&) {
    stall->acquire();
    return Result<int>(8);
  };
  async::Gate gate(*loop_);
  constexpr std::size_t kAskers = PatientReads::kWaitingMax + PatientReads::kGroupMax;
  for (std::size_t i = 0; i < kAskers; ++i) {
    const std::string folder = "/far/" + std::to_string(i);
    MUST(loop_->spawn(gate, count(reads.run_along<int>(folder, stalls, Reach::kBelow, "far"))));
  }
  pass(Duration::millis(10));
  const auto answers = [](PathTrail&) { return Result<int>(7); };
  EXPECT_EQ(MUST(ask(reads.run_along<int>("/near/1", answers, Reach::kBelow, "near"))), 7);
  EXPECT_EQ(MUST(ask(reads.run_along<int>("/alone", answers, Reach::kBelow))), 7);
  EXPECT_EQ(ask(reads.run_along<int>("/far/x", answers, Reach::kBelow, "far")).error().code,
            Errc::kFull);
  EXPECT_EQ(answered_, 0);
  stall_->release(static_cast<std::ptrdiff_t>(kAskers) - 1);
  stall_->release();
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(answered_, static_cast<int>(kAskers));
}

TEST_F(PatientReadsTest, WhoComesToAGroupThatIsSilentIsRefused) {
  PatientReads reads(*loop_, env::real_clock(), "reads", kShortPatience,
                     PatientReads::Turns::kPerFolder);
  const auto stalls = [stall = stall_](PathTrail&) {
    stall->acquire();
    return Result<int>(8);
  };
  async::Gate gate(*loop_);
  for (std::size_t i = 0; i < PatientReads::kGroupMax; ++i) {
    const std::string folder = "/far/" + std::to_string(i);
    MUST(loop_->spawn(gate, count(reads.run_along<int>(folder, stalls, Reach::kBelow, "far"))));
  }
  pass(Duration::millis(10));
  EXPECT_EQ(ask(reads.run_along<int>("/far/x", stalls, Reach::kBelow, "far")).error().code,
            Errc::kUnavailable);
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(silent_, static_cast<int>(PatientReads::kGroupMax));
  stall_->release(PatientReads::kGroupMax);
  pass(Duration::millis(50));
}

TEST_F(PatientReadsTest, WhoWaitsIsLetGoAtTheEnd) {
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, count(stalled("/a"))));
  MUST(loop_->spawn(gate, count(quick("/a"))));
  pass(Duration::millis(10));
  const Duration begun = env::real_clock().boot();
  reads_.stop();
  MUST(loop_->block_on(gate.close()));
  EXPECT_LT(env::real_clock().boot() - begun, kShortPatience);
  EXPECT_EQ(answered_ + silent_, 0);
  EXPECT_EQ(ask(quick("/b")).error().code, Errc::kCancelled);
  stall_->release();
}

TEST_F(PatientReadsTest, AsManyAsThereMayBeThatStandStillAreAllThatMay) {
  async::Gate gate(*loop_);
  for (std::size_t i = 0; i < PatientReads::kAtOnceMax; ++i) {
    MUST(loop_->spawn(gate, count(stalled("/" + std::to_string(i)))));
    pass(PatientReads::kStandsStill + PatientReads::kLookEvery);
  }
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(silent_, static_cast<int>(PatientReads::kAtOnceMax));
  EXPECT_EQ(ask(quick("/new")).error().code, Errc::kUnavailable);
  stall_->release(PatientReads::kAtOnceMax);
  pass(Duration::millis(50));
  EXPECT_EQ(MUST(ask(quick("/new"))), 7);
}

TEST_F(PatientReadsTest, ADeadMountIsNamed) {
  DeadMount mount(folder_.file("job/tasks/0.0"));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  const std::string file = folder_.file("job/tasks/0.0/metrics");
  const Result<int> read = ask(reads_.run<int>(
      folder_.file("job"), [file] { return Result<int>(env::exists(file) ? 1 : 0); }));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find(folder_.file("job/tasks/0.0") + " has not answered"),
            std::string::npos)
      << read.error().message;
}

TEST_F(PatientReadsTest, ADeadMountThatAHomeLinksToIsNamed) {
  DeadMount mount(folder_.file("dead"));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  ASSERT_EQ(::symlink("dead/home", folder_.file("home").c_str()), 0);
  const std::string home = folder_.file("home");
  const Result<int> read =
      ask(reads_.run<int>(home, [home] { return Result<int>(env::exists(home) ? 1 : 0); }));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find(folder_.file("dead") + " has not answered"),
            std::string::npos)
      << read.error().message;
  EXPECT_TRUE(read.error().hint.ends_with("umount --lazy " + folder_.file("dead")))
      << read.error().hint;
}

}  // namespace
}  // namespace runnel::agent
