#include <map>
#include <set>

#include <gtest/gtest.h>

#include "brain/orders_check.h"
#include "brain/reconciler.h"
#include "brain/testing/brain_harness.h"

// Which devices tasks are granted: docs/design/devices.md.
namespace runnel::brain {
namespace {

using model::Devices;
using model::Status;
using testing::BrainHarness;
using testing::step;

model::StepSpec with_devices(std::int64_t each, std::int64_t tasks = 1) {
  model::StepSpec spec = step("train", tasks);
  spec.resources.accelerators["H100"] = each;
  return spec;
}

Devices h100(std::int64_t begin, std::int64_t end) {
  return {{"H100", IntervalSet::of(begin, end)}};
}

const Lane& lane_of(const BrainHarness& harness, const model::AttemptRef& attempt) {
  return harness.brain.state().lanes.at(find_task(harness.brain.state(), attempt.task)->live->lane);
}

Devices devices_of(const BrainHarness& harness, const model::AttemptRef& attempt) {
  return lane_of(harness, attempt).places().front().devices;
}

// What a rank is shown.
std::map<std::string, std::string> shown(const BrainHarness& harness,
                                         const model::AttemptRef& attempt, const std::string& node,
                                         std::size_t place = 0) {
  const auto order = start_order(harness.brain.state(), attempt, NodeId(node));
  const auto& variables = order->place_env.at(place);
  return {variables.begin(), variables.end()};
}

TEST(Devices, AreGrantedByTheDecisionThatOpensTheLane) {
  BrainHarness harness;
  harness.devices = 8;
  harness.join("gpu", 64);
  const JobId job = harness.submit({with_devices(2, 3)});
  const auto opened = harness.all<model::LaneOpened>(harness.last);
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(model::places_of(opened[0].holding)[0].devices, h100(0, 2));
  EXPECT_EQ(model::places_of(opened[2].holding)[0].devices, h100(4, 6));
  const auto variables = shown(harness, BrainHarness::ref(job, 0, 1), "gpu");
  EXPECT_EQ(variables.at("CUDA_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(variables.at("RUNNEL_DEVICES"), "H100:2,3");
}

TEST(Devices, AreFreeAgainWhenTheirTaskHasEnded) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1, 2)});
  const JobId next = harness.submit({with_devices(1)});
  EXPECT_EQ(harness.task_status(next, 0, 0), Status::kQueued);
  harness.ended("gpu", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(devices_of(harness, BrainHarness::ref(next, 0, 0)), h100(0, 1));
}

TEST(Devices, PlacesOfAGangThatShareANodeHaveTheirOwn) {
  BrainHarness harness;
  harness.devices = 8;
  harness.colocate = true;
  harness.join("gpu", 64);
  harness.submit({with_devices(1)});
  model::StepSpec gang = with_devices(2);
  gang.num_nodes = 2;
  gang.procs_per_node = 2;
  const JobId job = harness.submit({gang});
  const auto attempt = BrainHarness::ref(job, 0, 0);
  EXPECT_EQ(devices_of(harness, attempt), h100(1, 5));
  EXPECT_EQ(shown(harness, attempt, "gpu", 0).at("CUDA_VISIBLE_DEVICES"), "1,2");
  EXPECT_EQ(shown(harness, attempt, "gpu", 1).at("CUDA_VISIBLE_DEVICES"), "3,4");
}

TEST(Devices, OfANodeThatCameBackSmallerAreNotUsedAgain) {
  BrainHarness harness;
  harness.devices = 4;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1, 20)});
  harness.ended("gpu", BrainHarness::ref(job, 0, 0));
  harness.devices = 2;
  harness.join("gpu", 8);
  for (int turns = 0; turns < 20; ++turns) {
    for (std::int64_t task = 1; task < 20; ++task) {
      if (harness.task_status(job, 0, task) != Status::kStarting) continue;
      harness.ended("gpu", BrainHarness::ref(job, 0, task));
      for (const auto& extended : harness.all<model::LaneExtended>(harness.last)) {
        const Lane& lane = harness.brain.state().lanes.at(extended.lane);
        EXPECT_TRUE(model::are_within(lane.places()[0].devices,
                                      harness.brain.state().nodes.at(NodeId("gpu")).info.capacity));
      }
    }
  }
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
}

// The lane is from before devices were granted by index.
TEST(Devices, OfALaneThatDoesNotNameThemCountUntilItCloses) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1, 3)});
  State old;
  for (model::Event event : harness.history) {
    if (auto* opened = std::get_if<model::LaneOpened>(&event)) {
      if (opened->lane == LaneId(1))
        std::get<model::Places>(opened->holding).all[0].devices.clear();
    }
    apply(old, event, harness.now);
  }
  harness.brain = Brain(std::move(old));
  const auto first = BrainHarness::ref(job, 0, 0);
  EXPECT_TRUE(start_order(harness.brain.state(), first, NodeId("gpu"))->place_env.empty());
  EXPECT_EQ(devices_of(harness, BrainHarness::ref(job, 0, 1)), h100(1, 2));
  EXPECT_EQ(harness.task_status(job, 0, 2), Status::kQueued);
  const Decision decision = harness.brain.decide(
      model::NodeReport{
          NodeId("gpu"), Incarnation("1"), {BrainHarness::end_of(first, 0, harness.now)}},
      harness.now);
  EXPECT_EQ(decision.events.empty(), false);
  EXPECT_EQ(devices_of(harness, BrainHarness::ref(job, 0, 2)), h100(0, 1))
      << "on a lane of its own";
  EXPECT_FALSE(harness.brain.state().lanes.contains(LaneId(1)));
}

// --- What may still be at a device.

model::RankReport runs(const model::AttemptRef& attempt, Time since) {
  model::RankReport report;
  report.attempt = attempt;
  report.started_at = since;
  return report;
}

TEST(Devices, AreNotGrantedBesideProcessesThatNobodyWantsAnyMore) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("gpu", 8);
  model::StepSpec spec = with_devices(1);
  spec.retry.max = 1;
  const JobId job = harness.submit({spec});
  const JobId beside = harness.submit({step("plain")});
  const auto lost = BrainHarness::ref(job, 0, 0);
  harness.running("gpu", lost);
  harness.lose("gpu");
  harness.pass(Duration::minutes(2));
  harness.rejoin("gpu", "1", {runs(lost, harness.now)});
  EXPECT_EQ(harness.brain.state().nodes.at(NodeId("gpu")).strangers,
            (std::vector<model::RankRef>{{lost, 0}}));
  harness.wake();
  EXPECT_NE(harness.task_status(job, 0, 0), Status::kStarting)
      << "its device may be the stranger's";
  EXPECT_EQ(harness.task_status(beside, 0, 0), Status::kStarting) << "it needs no device";
  harness.ended("gpu", lost);
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
}

TEST(Devices, AreFreeAtOnceOnANodeInANewLife) {
  BrainHarness harness;
  harness.devices = 1;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1)});
  harness.running("gpu", BrainHarness::ref(job, 0, 0));
  harness.lose("gpu");
  harness.pass(Duration::minutes(2));
  harness.rejoin("gpu", "2", {});
  harness.wake();
  EXPECT_EQ(devices_of(harness, BrainHarness::ref(job, 0, 0, 2)), h100(0, 1));
}

TEST(Devices, WhatHoldsNoneIsNoStranger) {
  BrainHarness harness;
  harness.devices = 1;
  harness.join("gpu", 8);
  const JobId plain = harness.submit({step("plain")});
  harness.running("gpu", BrainHarness::ref(plain, 0, 0));
  harness.lose("gpu");
  harness.rejoin("gpu", "1", {runs(BrainHarness::ref(plain, 0, 0), harness.now)});
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
  harness.rejoin("gpu", "1", {runs(BrainHarness::ref(JobId("forgotten"), 0, 0), harness.now)});
  EXPECT_EQ(harness.brain.state().nodes.at(NodeId("gpu")).strangers.size(), 1U) << "nobody can say";
  harness.rejoin("gpu", "1", {});
  EXPECT_TRUE(harness.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
}

// Its end is waited for, and a node tells nothing of what it was told to forget.
TEST(Devices, AStrangerIsNotForgottenBeforeItsEnd) {
  BrainHarness harness;
  harness.devices = 1;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1)});
  const auto lost = BrainHarness::ref(job, 0, 0);
  harness.running("gpu", lost);
  Reconciler reconciler(Epoch(1), harness.brain.state());
  harness.lose("gpu");
  const std::vector<model::Event> ended = harness.last;
  harness.rejoin("gpu", "1", {runs(lost, harness.now)});
  for (const model::NodeOrders& orders : reconciler.after(harness.brain.state(), ended)) {
    EXPECT_TRUE(orders.forget.empty());
    EXPECT_EQ(check_orders(harness.brain.state(), orders), "");
  }
  model::NodeOrders wrong;
  wrong.node = NodeId("gpu");
  wrong.forget = {lost};
  EXPECT_NE(check_orders(harness.brain.state(), wrong), "");
  harness.ended("gpu", lost);
  EXPECT_EQ(check_orders(harness.brain.state(), wrong), "") << "its end was told";
}

// Of a gang one rank ends before the others.
TEST(Devices, AStrangerIsNotForgottenWithTheFirstOfItsRanks) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1)});
  const auto lost = BrainHarness::ref(job, 0, 0);
  harness.lose("gpu");
  model::RankReport second = runs(lost, harness.now);
  second.rank = 1;
  harness.rejoin("gpu", "1", {runs(lost, harness.now), second});
  const Reconciler reconciler(Epoch(1), harness.brain.state());
  const auto forgotten = [&] {
    return reconciler.forget(harness.brain.state(), NodeId("gpu"), {lost}).forget;
  };
  harness.ended("gpu", lost);
  EXPECT_TRUE(forgotten().empty()) << "another rank runs there";
  harness.ended("gpu", lost, 0, 1);
  EXPECT_EQ(forgotten(), std::vector<model::AttemptRef>{lost});
}

// It waits on the node: neither started anew nor told as running.
TEST(Devices, AnAttemptThatWaitsOnItsNodeIsThere) {
  BrainHarness harness;
  harness.devices = 1;
  harness.join("gpu", 8);
  const JobId job = harness.submit({with_devices(1)});
  const model::RankReport waits = runs(BrainHarness::ref(job, 0, 0), Time());
  harness.rejoin("gpu", "1", {waits});
  EXPECT_TRUE(harness.last.empty());
  const Reconciler reconciler(Epoch(1), harness.brain.state());
  EXPECT_TRUE(empty(reconciler.on_join(harness.brain.state(), NodeId("gpu"), {&waits, 1})));
}

}  // namespace
}  // namespace runnel::brain
