#include "agent/preparer.h"

#include <sys/stat.h>

#include <string>

#include <gtest/gtest.h>

#include "agent/testing/dead_mount.h"
#include "agent/used_mounts.h"
#include "async/gate.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

using testing::DeadMount;

// The machine's clock, some time ahead.
class ClockAhead final : public env::Clock {
 public:
  Time wall() const override { return env::real_clock().wall() + ahead_; }
  Duration boot() const override { return env::real_clock().boot() + ahead_; }
  void skip(Duration step) { ahead_ = ahead_ + step; }

 private:
  Duration ahead_;
};

class PreparerTest : public ::testing::Test {
 protected:
  static model::StartOrder order_of(std::int64_t task) {
    model::StartOrder order;
    order.attempt = {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
    order.argv = {"true"};
    order.workdir = "/";
    return order;
  }
  model::StartOrder with_secret(std::int64_t task, const std::string& path) const {
    model::StartOrder order = order_of(task);
    order.secrets = {{"TOKEN", "file:" + path}};
    return order;
  }
  Async<void> begin(model::StartOrder order) {
    Result<Preparer::Prepared> prepared =
        co_await preparer_.prepare(NodeId("n1"), std::move(order), gate_.token());
    if (prepared.ok()) ++prepared_;
    co_return {};
  }
  Async<void> wait_until_prepared(int attempts) {
    while (prepared_ < attempts) CO_TRY(co_await loop_->sleep(Duration::millis(5)));
    co_return {};
  }
  // Those that are slow once so many are: each has its time from when it began. The clock is not
  // skipped so far that one is given up, which is after a minute.
  std::vector<Preparer::Waiting> wait_until_slow(std::size_t count) {
    constexpr int kTriesMax = 16;
    for (int tries = 1;; ++tries) {
      clock_.skip(Preparer::kSlowAfter);
      std::vector<Preparer::Waiting> waiting = preparer_.waiting();
      if (waiting.size() == count || tries == kTriesMax) return waiting;
      (void)loop_->block_on(loop_->sleep(Duration::millis(5) * (std::int64_t{1} << (tries / 2))));
    }
  }
  Result<Preparer::Prepared> prepare(model::StartOrder order) {
    return loop_->block_on(preparer_.prepare(NodeId("n1"), std::move(order), {}));
  }

  int prepared_ = 0;
  env::testing::TemporaryDirectory home_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  async::Gate gate_{*loop_};
  ClockAhead clock_;
  Preparer preparer_{*loop_, clock_, home_.path(), {}, nullptr, {home_.file("runnel")}};
};

TEST_F(PreparerTest, AnOrderThatNeedsNoPhaseIsReadyAtOnce) {
  const auto made = preparer_.at_once(NodeId("n1"), order_of(0));
  ASSERT_TRUE(made && made->ok());
  EXPECT_EQ((*made)->place.attempt, order_of(0).attempt);
  EXPECT_FALSE(preparer_.at_once(NodeId("n1"), with_secret(0, "/x")));
}

TEST_F(PreparerTest, APhaseThatFailsIsTheErrorOfTheAttempt) {
  const auto made = prepare(with_secret(0, home_.file("none")));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().field, "secrets.TOKEN");
}

TEST_F(PreparerTest, APlanIsKnownOnceAnAttemptPassedIt) {
  model::StartOrder order = order_of(0);
  order.metrics.tensorboard = "events";
  const output::MetricPlanPtr plan = MUST(prepare(order)).plan;
  ASSERT_TRUE(plan);
  EXPECT_EQ(preparer_.plan_of(order.attempt.task), plan);
  EXPECT_TRUE(preparer_.at_once(NodeId("n1"), order)) << "nothing is left to be kept";
  async::Gate other(*loop_);
  Preparer later(*loop_, env::real_clock(), home_.path(), {});
  MUST(loop_->block_on(later.load_plans({order.attempt.task})));
  EXPECT_TRUE(later.plan_of(order.attempt.task));
}

TEST_F(PreparerTest, ASecretThatHangsDelaysOnlyThoseWhoNeedIt) {
  DeadMount mount(home_.file("mount"));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  MUST(env::append_file(home_.file("key"), "text"));
  // More than there may be threads: those who ask for one file wait for it one after another.
  constexpr int kAskers = 2 * static_cast<int>(PatientReads::kAtOnceMax);
  for (int i = 1; i <= kAskers; ++i) {
    MUST(loop_->spawn(gate_, begin(with_secret(i, home_.file("mount") + "/secret"))));
  }
  (void)loop_->block_on(loop_->sleep(Duration::millis(10)));
  EXPECT_TRUE(prepare(with_secret(0, home_.file("key"))).ok());
  EXPECT_EQ(prepared_, 0);
  mount.end();
  MUST(loop_->block_on(gate_.close()));
  EXPECT_EQ(prepared_, 0);
}

TEST_F(PreparerTest, AStoreThatIsAwayDelaysOnlyThoseWhoReadFromIt) {
  const std::string runnel = home_.file("runnel");
  MUST(env::write_file_atomically(runnel, "#!/bin/sh\ncase \"$*\" in *away@*) while [ ! -e " +
                                              home_.file("back") +
                                              " ]; do sleep 0.01; done;; esac\n"));
  ASSERT_EQ(::chmod(runnel.c_str(), 0700), 0);
  model::StartOrder near = order_of(0);
  near.volumes = {{"near", "near", "0123456789abcdef", "file:///volumes"}};
  constexpr int kAskers = 2 * static_cast<int>(PatientReads::kAtOnceMax);
  for (int task = 1; task <= kAskers; ++task) {
    model::StartOrder both = order_of(task);
    both.volumes = near.volumes;
    both.volumes.push_back({"away", "away", "0123456789abcdef", "file:///volumes"});
    MUST(loop_->spawn(gate_, begin(std::move(both))));
  }
  (void)loop_->block_on(loop_->sleep(Duration::millis(10)));
  EXPECT_TRUE(prepare(near).ok());
  EXPECT_EQ(prepared_, 0);
  EXPECT_TRUE(preparer_.waiting().empty()) << "for a moment only";
  const std::vector<Preparer::Waiting> waiting = wait_until_slow(kAskers);
  ASSERT_EQ(waiting.size(), static_cast<std::size_t>(kAskers));
  EXPECT_EQ(waiting[0].waits_for, "volume away@0123456789abcdef of file:///volumes");
  MUST(env::append_file(home_.file("back"), ""));
  MUST(loop_->block_on(wait_until_prepared(kAskers)));
  EXPECT_TRUE(preparer_.waiting().empty());
  MUST(loop_->block_on(gate_.close()));
}

TEST_F(PreparerTest, OfTwoPreparationsOfAnAttemptEachIsToldOf) {
  DeadMount mount(home_.file("mount"));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  const model::StartOrder order = with_secret(0, home_.file("mount") + "/secret");
  async::Gate others(*loop_);
  MUST(loop_->spawn(gate_, begin(order)));
  MUST(loop_->spawn(others, begin(order)));
  MUST(loop_->block_on(loop_->sleep(Duration::millis(10))));
  EXPECT_EQ(wait_until_slow(2).size(), 2U);
  mount.end();
  MUST(loop_->block_on(gate_.close()));
  MUST(loop_->block_on(others.close()));
  EXPECT_TRUE(preparer_.waiting().empty());
}

TEST_F(PreparerTest, APartThatCannotBeTakenBackKeepsNoneOfTheOthers) {
  const std::string runnel = home_.file("runnel");
  MUST(env::write_file_atomically(runnel, "#!/bin/sh\nexit 0\n"));
  ASSERT_EQ(::chmod(runnel.c_str(), 0700), 0);
  model::StartOrder order = order_of(0);
  for (const char* name : {"a", "b", "c"}) {
    order.volumes.push_back({name, name, "0123456789abcdef", "file:///volumes"});
  }
  MUST(prepare(order));
  const UsedMounts mounts(home_.path());
  const std::string broken = mounts.place_of(order.volumes[1]) + "/uses";
  MUST(env::remove_tree(broken));
  MUST(env::append_file(broken, "no folder"));
  MUST(loop_->block_on(preparer_.take_back({NodeId("n1"), order.attempt})));
  EXPECT_EQ(MUST(mounts.places()), std::vector<std::string>{mounts.place_of(order.volumes[1])});
  EXPECT_EQ(preparer_.notices().size(), 1U);
  MUST(env::remove_file(broken));
  MUST(loop_->block_on(
      preparer_.take_back_unwanted([](const auto&) { return Preparer::Standing::kGone; }, {})));
  EXPECT_TRUE(MUST(mounts.places()).empty());
  EXPECT_TRUE(preparer_.notices().empty());
}

// The end of an attempt may be told by another life of the agent than the one that made it ready.
TEST_F(PreparerTest, WhatAPreparationHasPublishedIsKnownToTheNextLife) {
  MUST(env::write_file_atomically(home_.file("runnel"),
                                  "#!/bin/sh\necho '{\"version\":\"0123456789abcdef\"}'\n"));
  ASSERT_EQ(::chmod(home_.file("runnel").c_str(), 0700), 0);
  model::StartOrder order = order_of(0);
  order.merge = {"job.train", {{0, 1}}, 1, {}};
  order.volumes = {{"out", "results", "", "file:///volumes", false, model::VolumeMode::kWrite}};
  const runner::AttemptOnNode of{NodeId("n1"), order.attempt};
  const model::VolumeVersions made{{"out", "0123456789abcdef"}};
  MUST(prepare(order));
  EXPECT_EQ(preparer_.published_by(of), made);
  Preparer next(*loop_, clock_, home_.path(), {}, nullptr, {home_.file("runnel")});
  EXPECT_TRUE(next.published_by(of).empty());
  MUST(loop_->block_on(next.load_unfinished()));
  EXPECT_EQ(next.published_by(of), made);
  MUST(loop_->block_on(
      next.take_back_unwanted([](const auto&) { return Preparer::Standing::kGone; }, {})));
  EXPECT_TRUE(next.published_by(of).empty());
  EXPECT_TRUE(MUST(PreparationRecords(home_.path()).all()).records.empty());
}

}  // namespace
}  // namespace runnel::agent
