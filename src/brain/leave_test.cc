#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/explain.h"
#include "brain/testing/desk.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Status;
using testing::Desk;
using testing::step;

void give_notice(Desk& desk, const std::string& node, Duration notice, std::string life = "1") {
  desk.decide(model::NodeNotice{NodeId(node), Incarnation(std::move(life)), desk.now + notice,
                                "Preempted"});
}

TEST(Leave, WhatRunsIsAskedToEndAndGoesOnElsewhereWithoutACharge) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.join("b", 1);
  give_notice(desk, "a", Duration::seconds(30));
  const auto stopping = desk.all<model::AttemptStopping>(desk.last);
  ASSERT_EQ(stopping.size(), 1U);
  EXPECT_EQ(stopping[0].because, Status::kPreempted);
  const auto stop = stop_order(desk.brain.state(), Desk::ref(job, 0, 0), Status::kPreempted);
  EXPECT_EQ(stop->grace, Duration::seconds(30)) << "all of the notice";
  EXPECT_EQ(stop->reason, model::StopReason::kPreempted);
  desk.pass(Duration::seconds(5));
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ended = desk.all<model::AttemptEnded>(desk.last);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].to, Status::kPreempted);
  EXPECT_FALSE(ended[0].charged);
  EXPECT_EQ(desk.brain.state().lanes.begin()->second.places()[0].node, NodeId("b"));
}

TEST(Leave, OneThatEndsWellIsDone) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  give_notice(desk, "a", Duration::seconds(30));
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
}

TEST(Leave, TheNodeGetsNothingMore) {
  Desk desk;
  desk.join("a", 1);
  give_notice(desk, "a", Duration::seconds(30));
  const JobId job = desk.submit({step("one")});
  EXPECT_EQ(desk.job_status(job), Status::kQueued);
  EXPECT_TRUE(desk.brain.state().lanes.empty());
  const auto waits = desk.brain.explain(job, desk.now);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->at(0).reason, "ReqNodeNotAvail");
}

TEST(Leave, AtTheEndOfTheNoticeItIsGoneAndWhatStillLivesIsLost) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("two", 2)});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.running("a", Desk::ref(job, 0, 1));
  give_notice(desk, "a", Duration::seconds(30));
  EXPECT_EQ(desk.brain.next_wake(desk.now), desk.now + Duration::seconds(30));
  desk.pass(Duration::seconds(30));
  desk.wake();
  const Node& node = desk.brain.state().nodes.at(NodeId("a"));
  EXPECT_FALSE(node.up);
  EXPECT_EQ(node.reason, "Preempted");
  for (const auto& ended : desk.all<model::AttemptEnded>(desk.last)) EXPECT_FALSE(ended.charged);
  EXPECT_EQ(desk.count(job, 0, Status::kQueued) + desk.count(job, 0, Status::kRecovering), 2);
  desk.rejoin("a", "1", {});
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "it came back";
}

TEST(Leave, AGangEndsWhole) {
  Desk desk;
  desk.join("a", 1);
  desk.join("b", 1);
  auto gang = step("gang");
  gang.num_nodes = 2;
  const JobId job = desk.submit({gang});
  give_notice(desk, "b", Duration::seconds(10));
  EXPECT_EQ(desk.all<model::AttemptStopping>(desk.last).size(), 1U);
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  desk.ended("b", Desk::ref(job, 0, 0), 143, 1, EndCause::kStopped);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kQueued);
}

TEST(Leave, AnEarlierLifeOrAnUnknownNodeIsNotMeant) {
  Desk desk;
  desk.join("a", 1, "2");
  give_notice(desk, "a", Duration::seconds(1), "1");
  give_notice(desk, "b", Duration::seconds(1));
  EXPECT_TRUE(desk.last.empty());
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("a")).takes_work());
}

TEST(Leave, AJoinForgetsTheNoticeAndKeepsWhatWasAskedToEnd) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  give_notice(desk, "a", Duration::seconds(30));
  model::RankReport there;
  there.attempt = Desk::ref(job, 0, 0);
  there.started_at = desk.now;
  desk.rejoin("a", "1", {there});
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("a")).takes_work());
  EXPECT_EQ(desk.brain.state().lanes.size(), 1U) << "no second attempt beside the first";
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(desk.all<model::AttemptEnded>(desk.last).front().to, Status::kPreempted);
}

TEST(Leave, ANewLifeForgetsTheNotice) {
  Desk desk;
  desk.join("a", 1);
  give_notice(desk, "a", Duration::seconds(1));
  desk.rejoin("a", "2", {});
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("a")).takes_work());
  desk.pass(Duration::seconds(2));
  desk.wake();
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("a")).up);
}

}  // namespace
}  // namespace runnel::brain
