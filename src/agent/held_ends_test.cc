#include "agent/held_ends.h"

#include <sys/stat.h>

#include <csignal>

#include <gtest/gtest.h>

#include "agent/phases/shown_tree.h"
#include "agent/used_mounts.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

using State = runner::RankFact::State;

// With a script in the place of `runnel volume`. What was written is published once its place says
// so, which this test does.
class HeldEndsTest : public ::testing::Test {
 protected:
  HeldEndsTest() {
    order_.attempt = {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
    order_.argv = {"true"};
    order_.workdir = "/";
    order_.grace = Duration::millis(20);
    order_.branch = "job.train.0";
    order_.volumes = {{"out", "results", "", "file:///volumes", false, model::VolumeMode::kWrite}};
    answer_with(R"(echo '{"branches":[{"branch":"job.train.0","term":1}]}')");
  }
  ~HeldEndsTest() override { (void)loop_->block_on(gate_.close()); }

  void answer_with(const std::string& script) {
    MUST(env::write_file_atomically(home_.file("runnel"), "#!/bin/sh\n" + script + "\n"));
    ASSERT_EQ(::chmod(home_.file("runnel").c_str(), 0700), 0);
  }
  void prepare() {
    if (!can_mount()) GTEST_SKIP() << "only root may open /dev/fuse here";
    (void)MUST(loop_->block_on(preparer_.prepare(of_.node, order_, {})));
  }
  void publish() {
    MUST(UsedMounts::mark_published(
        UsedMounts(home_.path())
            .place_of_branch(order_.volumes[0], order_.branch, order_.attempt.attempt)));
  }
  runner::RankFact fact(State state = State::kEnded, std::int32_t code = 0) const {
    model::RankReport report;
    report.attempt = order_.attempt;
    report.started_at = env::real_clock().wall();
    report.ended = state == State::kEnded;
    report.code = code;
    return {of_.node, state, report};
  }
  // Ends that are left in the news.
  std::size_t news(const runner::RankFact& fact) {
    news_ = {fact};
    ends_.take_from(news_);
    return static_cast<std::size_t>(
        std::ranges::count(news_, fact.state, &runner::RankFact::state));
  }
  runner::RankFact in_inventory() {
    std::vector<runner::RankFact> facts{fact()};
    ends_.replace_in(facts);
    return facts.at(0);
  }
  const runner::RankFact& told() {
    for (int tries = 0; told_.empty() && tries < 2'000; ++tries) {
      (void)loop_->block_on(loop_->sleep(Duration::millis(5)));
    }
    return told_.at(0);
  }
  void wait(Duration time) { (void)loop_->block_on(loop_->sleep(time)); }

  env::testing::TemporaryDirectory home_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  async::Gate gate_{*loop_};
  Preparer preparer_{*loop_, env::real_clock(), home_.path(), {}, nullptr, {home_.file("runnel")}};
  model::StartOrder order_;
  runner::AttemptOnNode of_{NodeId("n1"),
                            {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)}};
  std::vector<runner::RankFact> told_;
  int held_ = 0;
  std::vector<runner::RankFact> news_;
  HeldEnds ends_{*loop_,
                 env::real_clock(),
                 preparer_,
                 gate_,
                 {.is_ours = [](const NodeId& node) { return node != NodeId("gone"); },
                  .held = [this](const runner::RankFact&) { ++held_; },
                  .tell = [this](runner::RankFact fact) { told_.push_back(std::move(fact)); }}};
};

TEST_F(HeldEndsTest, AnEndIsToldOnceWhatItWroteIsPublished) {
  prepare();
  EXPECT_EQ(news(fact(State::kRunning)), 1U);
  EXPECT_EQ(news(fact()), 0U);
  ASSERT_EQ(news_.size(), 1U);
  EXPECT_EQ(news_[0].state, State::kRunning) << "it may have begun with these news";
  EXPECT_EQ(news(fact()), 0U) << "told twice by the runner";
  EXPECT_TRUE(news_.empty());
  EXPECT_EQ(held_, 1);
  wait(Duration::millis(50));
  EXPECT_TRUE(told_.empty());
  EXPECT_EQ(in_inventory().state, State::kRunning) << "for all that anybody is told";
  EXPECT_FALSE(in_inventory().report.ended);
  publish();
  EXPECT_EQ(told().report.code, 0);
  EXPECT_EQ(in_inventory().state, State::kEnded);
  EXPECT_EQ(told_.size(), 1U);
}

TEST_F(HeldEndsTest, WhatWritesNothingIsHeldByNobody) {
  EXPECT_EQ(news(fact()), 1U);
  prepare();
  runner::RankFact never = fact();
  never.report.cause = model::EndCause::kNotStarted;
  EXPECT_EQ(news(never), 1U);
}

TEST_F(HeldEndsTest, OneThatIsStoppedWaitsForItsGraceAlone) {
  prepare();
  EXPECT_EQ(news(fact()), 0U);
  ends_.stop(of_, order_.grace);
  EXPECT_EQ(told().report.cause, model::EndCause::kStopped);
  EXPECT_EQ(told().report.signal, SIGKILL) << "it is no success";
  EXPECT_NE(told().report.message.find("is not in its volume"), std::string::npos);
  EXPECT_EQ(in_inventory().report, told().report) << "an end never changes";
}

// The runner has nothing to stop any more, and its word of the end is on its way.
TEST_F(HeldEndsTest, AStopThatCrossesTheWordOfTheEndCounts) {
  prepare();
  ends_.stop(of_, order_.grace);
  EXPECT_EQ(news(fact()), 0U);
  EXPECT_EQ(told().report.cause, model::EndCause::kStopped);
}

// Nobody is told of their ends, and no node joins before they have come.
TEST_F(HeldEndsTest, EndsOfNodesThatTheHomeHasNoMoreAreNotHeld) {
  of_.node = NodeId("gone");
  prepare();
  EXPECT_EQ(news(fact()), 1U);
  EXPECT_EQ(in_inventory().state, State::kEnded);
}

TEST_F(HeldEndsTest, OneThatTakesLongerThanItMayHasTimedOut) {
  order_.max_duration = Duration::millis(30);
  prepare();
  EXPECT_EQ(news(fact()), 0U);
  EXPECT_EQ(told().report.cause, model::EndCause::kTimeout);
}

TEST_F(HeldEndsTest, OneThatFailedWaitsForItsGraceAndEndsAsItDid) {
  prepare();
  EXPECT_EQ(news(fact(State::kEnded, 3)), 0U);
  EXPECT_EQ(told().report.code, 3);
  EXPECT_EQ(told().report.cause, model::EndCause::kExited);
}

TEST_F(HeldEndsTest, OneWhoseBranchIsAnothersHasFailed) {
  prepare();
  answer_with(R"(echo '{"branches":[{"branch":"job.train.0","term":2}]}')");
  EXPECT_EQ(news(fact()), 0U);
  EXPECT_EQ(told().report.code, 1);
  EXPECT_NE(told().report.message.find("a later attempt"), std::string::npos);
}

// The next life of the agent finds what the one before has not finished.
TEST_F(HeldEndsTest, WhatIsUnfinishedIsFoundByTheNextLife) {
  prepare();
  Preparer next(*loop_, env::real_clock(), home_.path(), {}, nullptr, {home_.file("runnel")});
  EXPECT_EQ(next.unfinished(of_), nullptr);
  MUST(loop_->block_on(next.load_unfinished()));
  ASSERT_NE(next.unfinished(of_), nullptr);
  EXPECT_EQ(*next.unfinished(of_), order_);
}

}  // namespace
}  // namespace runnel::agent
