#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/explain.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Status;
using testing::BrainHarness;
using testing::step;

void give_notice(BrainHarness& harness, const std::string& node, Duration notice,
                 std::string life = "1") {
  harness.decide(model::NodeNotice{NodeId(node), Incarnation(std::move(life)), harness.now + notice,
                                   "Preempted"});
}

TEST(Leave, WhatRunsIsAskedToEndAndGoesOnElsewhereWithoutACharge) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.join("b", 1);
  give_notice(harness, "a", Duration::seconds(30));
  const auto stopping = harness.all<model::AttemptStopping>(harness.last);
  ASSERT_EQ(stopping.size(), 1U);
  EXPECT_EQ(stopping[0].because, Status::kPreempted);
  const auto stop =
      stop_order(harness.brain.state(), BrainHarness::ref(job, 0, 0), Status::kPreempted);
  EXPECT_EQ(stop->grace, Duration::seconds(30)) << "all of the notice";
  EXPECT_EQ(stop->reason, model::StopReason::kPreempted);
  harness.pass(Duration::seconds(5));
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ended = harness.all<model::AttemptEnded>(harness.last);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].to, Status::kPreempted);
  EXPECT_FALSE(ended[0].charged);
  EXPECT_EQ(harness.brain.state().lanes.begin()->second.places()[0].node, NodeId("b"));
}

TEST(Leave, OneThatEndsWellIsDone) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  give_notice(harness, "a", Duration::seconds(30));
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
}

TEST(Leave, TheNodeGetsNothingMore) {
  BrainHarness harness;
  harness.join("a", 1);
  give_notice(harness, "a", Duration::seconds(30));
  const JobId job = harness.submit({step("one")});
  EXPECT_EQ(harness.job_status(job), Status::kQueued);
  EXPECT_TRUE(harness.brain.state().lanes.empty());
  const auto waits = harness.brain.explain(job, harness.now);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->at(0).reason, "ReqNodeNotAvail");
}

TEST(Leave, AtTheEndOfTheNoticeItIsGoneAndWhatStillLivesIsLost) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("two", 2)});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.running("a", BrainHarness::ref(job, 0, 1));
  give_notice(harness, "a", Duration::seconds(30));
  EXPECT_EQ(harness.brain.next_wake(harness.now), harness.now + Duration::seconds(30));
  harness.pass(Duration::seconds(30));
  harness.wake();
  const Node& node = harness.brain.state().nodes.at(NodeId("a"));
  EXPECT_FALSE(node.up);
  EXPECT_EQ(node.reason, "Preempted");
  for (const auto& ended : harness.all<model::AttemptEnded>(harness.last))
    EXPECT_FALSE(ended.charged);
  EXPECT_EQ(harness.count(job, 0, Status::kQueued) + harness.count(job, 0, Status::kRecovering), 2);
  harness.rejoin("a", "1", {});
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "it came back";
}

// Most programs that save when they are told leave with 0.
TEST(Leave, WhoLeavesWithZeroBecauseItWasToldIsNotDone) {
  for (const EndCause cause : {EndCause::kStopped, EndCause::kExited}) {
    BrainHarness harness;
    harness.join("a", 1);
    const JobId job = harness.submit({step("one")});
    harness.running("a", BrainHarness::ref(job, 0, 0));
    give_notice(harness, "a", Duration::seconds(30));
    harness.ended("a", BrainHarness::ref(job, 0, 0), 0, 0, cause);
    const bool was_told = cause == EndCause::kStopped;
    EXPECT_EQ(harness.task_status(job, 0, 0), was_told ? Status::kQueued : Status::kSucceeded);
  }
}

TEST(Leave, AGangEndsWhole) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.join("b", 1);
  auto gang = step("gang");
  gang.num_nodes = 2;
  const JobId job = harness.submit({gang});
  give_notice(harness, "b", Duration::seconds(10));
  EXPECT_EQ(harness.all<model::AttemptStopping>(harness.last).size(), 1U);
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  harness.ended("b", BrainHarness::ref(job, 0, 0), 143, 1, EndCause::kStopped);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kQueued);
}

TEST(Leave, AnEarlierLifeOrAnUnknownNodeIsNotMeant) {
  BrainHarness harness;
  harness.join("a", 1, "2");
  give_notice(harness, "a", Duration::seconds(1), "1");
  give_notice(harness, "b", Duration::seconds(1));
  EXPECT_TRUE(harness.last.empty());
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("a")).takes_work());
}

TEST(Leave, AJoinForgetsTheNoticeAndKeepsWhatWasAskedToEnd) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  give_notice(harness, "a", Duration::seconds(30));
  model::RankReport there;
  there.attempt = BrainHarness::ref(job, 0, 0);
  there.started_at = harness.now;
  harness.rejoin("a", "1", {there});
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("a")).takes_work());
  EXPECT_EQ(harness.brain.state().lanes.size(), 1U) << "no second attempt beside the first";
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(harness.all<model::AttemptEnded>(harness.last).front().to, Status::kPreempted);
}

TEST(Leave, ANewLifeForgetsTheNotice) {
  BrainHarness harness;
  harness.join("a", 1);
  give_notice(harness, "a", Duration::seconds(1));
  harness.rejoin("a", "2", {});
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("a")).takes_work());
  harness.pass(Duration::seconds(2));
  harness.wake();
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("a")).up);
}

}  // namespace
}  // namespace runnel::brain
