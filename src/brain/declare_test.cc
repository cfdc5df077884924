#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/testing/brain_harness.h"
#include "sched/request.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;
using testing::step;

model::StepSpec wanting(std::int64_t cpus, std::int64_t devices = 0) {
  model::StepSpec spec = step("s");
  spec.resources.milli_cpus = cpus * 1000;
  if (devices > 0) spec.resources.accelerators["H100"] = devices;
  return spec;
}

// Each node counts the devices of the machine from 0. What waits behind a blocked step may begin
// once that has room elsewhere, and so on the node that is to go, were this not known before.
TEST(Declare, WhatJoinsFirstMovesNothingToANodeThatDrains) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("local", 4);
  harness.submit({wanting(2)});
  const JobId blocked = harness.submit({wanting(4)});
  harness.pass(sched::kBackfillPatience + Duration::seconds(1));
  const JobId behind = harness.submit({wanting(1, 1)});
  ASSERT_EQ(harness.job_status(behind), Status::kQueued);
  model::NodeInfo local = harness.brain.state().nodes.at(NodeId("local")).info;
  model::NodeInfo big = local;
  big.id = NodeId("big");
  local.draining = true;
  harness.decide(model::NodesDeclared{{big, local}});
  EXPECT_FALSE(harness.brain.state().nodes.contains(big.id)) << "it has not joined";
  harness.join("big", 4);
  EXPECT_NE(harness.job_status(blocked), Status::kQueued);
  EXPECT_EQ(harness.job_status(behind), Status::kQueued);
}

TEST(Declare, WhoIsNotAmongThemHasLeftAndItsWorkGoesOnWithTheOthers) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.submit({step("s")});
  harness.join("b", 1);
  const model::NodeInfo b = harness.brain.state().nodes.at(NodeId("b")).info;
  harness.decide(model::NodesDeclared{{b}});
  EXPECT_EQ(harness.brain.state().nodes.at(NodeId("a")).reason, model::kLeftReason);
  EXPECT_EQ(harness.brain.state().lanes.begin()->second.places()[0].node, NodeId("b"));
  EXPECT_TRUE(harness.decide(model::NodesDeclared{{b}}).events.empty()) << "no news";
}

TEST(Declare, AChangedNodeKeepsItsLifeAndWhatRunsThereAgainstAnybodysWish) {
  BrainHarness harness;
  harness.devices = 1;
  harness.join("a", 1);
  const JobId job = harness.submit({wanting(1, 1)});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.lose("a");
  const auto attempt = BrainHarness::ref(job, 0, 0);
  model::RankReport runs;
  runs.attempt = attempt;
  harness.rejoin("a", "1", {runs});
  const Node before = harness.brain.state().nodes.at(NodeId("a"));
  ASSERT_EQ(before.strangers.size(), 1U);
  model::NodeInfo smaller = before.info;
  smaller.capacity.milli_cpus = 500;
  harness.decide(model::NodesDeclared{{smaller}});
  const Node& now = harness.brain.state().nodes.at(NodeId("a"));
  EXPECT_EQ(now.info, smaller);
  EXPECT_EQ(now.incarnation, before.incarnation);
  EXPECT_EQ(now.strangers, before.strangers);
}

}  // namespace
}  // namespace runnel::brain
