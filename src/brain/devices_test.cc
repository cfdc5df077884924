#include <map>
#include <set>

#include <gtest/gtest.h>

#include "brain/reconciler.h"
#include "brain/testing/desk.h"

// Which devices tasks are granted: docs/design/devices.md.
namespace runnel::brain {
namespace {

using model::Devices;
using model::Status;
using testing::Desk;
using testing::step;

model::StepSpec with_devices(std::int64_t each, std::int64_t tasks = 1) {
  model::StepSpec spec = step("train", tasks);
  spec.resources.accelerators["H100"] = each;
  return spec;
}

Devices h100(std::int64_t begin, std::int64_t end) {
  return {{"H100", IntervalSet::of(begin, end)}};
}

const Lane& lane_of(const Desk& desk, const model::AttemptRef& attempt) {
  return desk.brain.state().lanes.at(find_task(desk.brain.state(), attempt.task)->live->lane);
}

Devices devices_of(const Desk& desk, const model::AttemptRef& attempt) {
  return lane_of(desk, attempt).places().front().devices;
}

// What a rank is shown.
std::map<std::string, std::string> shown(const Desk& desk, const model::AttemptRef& attempt,
                                         const std::string& node, std::size_t place = 0) {
  const auto order = start_order(desk.brain.state(), attempt, NodeId(node));
  const auto& variables = order->place_env.at(place);
  return {variables.begin(), variables.end()};
}

TEST(Devices, AreGrantedByTheDecisionThatOpensTheLane) {
  Desk desk;
  desk.devices = 8;
  desk.join("gpu", 64);
  const JobId job = desk.submit({with_devices(2, 3)});
  const auto opened = desk.all<model::LaneOpened>(desk.last);
  ASSERT_EQ(opened.size(), 3U);
  EXPECT_EQ(model::places_of(opened[0].holding)[0].devices, h100(0, 2));
  EXPECT_EQ(model::places_of(opened[2].holding)[0].devices, h100(4, 6));
  const auto variables = shown(desk, Desk::ref(job, 0, 1), "gpu");
  EXPECT_EQ(variables.at("CUDA_VISIBLE_DEVICES"), "2,3");
  EXPECT_EQ(variables.at("RUNNEL_DEVICES"), "H100:2,3");
}

TEST(Devices, AreFreeAgainWhenTheirTaskHasEnded) {
  Desk desk;
  desk.devices = 2;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1, 2)});
  const JobId next = desk.submit({with_devices(1)});
  EXPECT_EQ(desk.task_status(next, 0, 0), Status::kQueued);
  desk.ended("gpu", Desk::ref(job, 0, 0));
  EXPECT_EQ(devices_of(desk, Desk::ref(next, 0, 0)), h100(0, 1));
}

TEST(Devices, PlacesOfAGangThatShareANodeHaveTheirOwn) {
  Desk desk;
  desk.devices = 8;
  desk.colocate = true;
  desk.join("gpu", 64);
  desk.submit({with_devices(1)});
  model::StepSpec gang = with_devices(2);
  gang.num_nodes = 2;
  gang.procs_per_node = 2;
  const JobId job = desk.submit({gang});
  const auto attempt = Desk::ref(job, 0, 0);
  EXPECT_EQ(devices_of(desk, attempt), h100(1, 5));
  EXPECT_EQ(shown(desk, attempt, "gpu", 0).at("CUDA_VISIBLE_DEVICES"), "1,2");
  EXPECT_EQ(shown(desk, attempt, "gpu", 1).at("CUDA_VISIBLE_DEVICES"), "3,4");
}

TEST(Devices, OfANodeThatCameBackSmallerAreNotUsedAgain) {
  Desk desk;
  desk.devices = 4;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1, 20)});
  desk.ended("gpu", Desk::ref(job, 0, 0));
  desk.devices = 2;
  desk.join("gpu", 8);
  for (int turns = 0; turns < 20; ++turns) {
    for (std::int64_t task = 1; task < 20; ++task) {
      if (desk.task_status(job, 0, task) != Status::kStarting) continue;
      desk.ended("gpu", Desk::ref(job, 0, task));
      for (const auto& extended : desk.all<model::LaneExtended>(desk.last)) {
        const Lane& lane = desk.brain.state().lanes.at(extended.lane);
        EXPECT_TRUE(model::are_within(lane.places()[0].devices,
                                      desk.brain.state().nodes.at(NodeId("gpu")).info.capacity));
      }
    }
  }
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
}

// The lane is from before devices were granted by index.
TEST(Devices, OfALaneThatDoesNotNameThemCountUntilItCloses) {
  Desk desk;
  desk.devices = 2;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1, 3)});
  State old;
  for (model::Event event : desk.history) {
    if (auto* opened = std::get_if<model::LaneOpened>(&event)) {
      if (opened->lane == LaneId(1))
        std::get<model::Places>(opened->holding).all[0].devices.clear();
    }
    apply(old, event, desk.now);
  }
  desk.brain = Brain(std::move(old));
  const auto first = Desk::ref(job, 0, 0);
  EXPECT_TRUE(start_order(desk.brain.state(), first, NodeId("gpu"))->place_env.empty());
  EXPECT_EQ(devices_of(desk, Desk::ref(job, 0, 1)), h100(1, 2));
  EXPECT_EQ(desk.task_status(job, 0, 2), Status::kQueued);
  const Decision decision = desk.brain.decide(
      model::NodeReport{NodeId("gpu"), Incarnation("1"), {Desk::end_of(first, 0, desk.now)}},
      desk.now);
  EXPECT_EQ(decision.events.empty(), false);
  EXPECT_EQ(devices_of(desk, Desk::ref(job, 0, 2)), h100(0, 1)) << "on a lane of its own";
  EXPECT_FALSE(desk.brain.state().lanes.contains(LaneId(1)));
}

// --- What may still be at a device.

model::RankReport runs(const model::AttemptRef& attempt, Time since) {
  model::RankReport report;
  report.attempt = attempt;
  report.started_at = since;
  return report;
}

TEST(Devices, AreNotGrantedBesideProcessesThatNobodyWantsAnyMore) {
  Desk desk;
  desk.devices = 2;
  desk.join("gpu", 8);
  model::StepSpec spec = with_devices(1);
  spec.retry.max = 1;
  const JobId job = desk.submit({spec});
  const JobId beside = desk.submit({step("plain")});
  const auto lost = Desk::ref(job, 0, 0);
  desk.running("gpu", lost);
  desk.lose("gpu");
  desk.pass(Duration::minutes(2));
  desk.rejoin("gpu", "1", {runs(lost, desk.now)});
  EXPECT_EQ(desk.brain.state().nodes.at(NodeId("gpu")).strangers,
            (std::vector<model::RankRef>{{lost, 0}}));
  desk.wake();
  EXPECT_NE(desk.task_status(job, 0, 0), Status::kStarting) << "its device may be the stranger's";
  EXPECT_EQ(desk.task_status(beside, 0, 0), Status::kStarting) << "it needs no device";
  desk.ended("gpu", lost);
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
}

TEST(Devices, AreFreeAtOnceOnANodeInANewLife) {
  Desk desk;
  desk.devices = 1;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1)});
  desk.running("gpu", Desk::ref(job, 0, 0));
  desk.lose("gpu");
  desk.pass(Duration::minutes(2));
  desk.rejoin("gpu", "2", {});
  desk.wake();
  EXPECT_EQ(devices_of(desk, Desk::ref(job, 0, 0, 2)), h100(0, 1));
}

TEST(Devices, WhatHoldsNoneIsNoStranger) {
  Desk desk;
  desk.devices = 1;
  desk.join("gpu", 8);
  const JobId plain = desk.submit({step("plain")});
  desk.running("gpu", Desk::ref(plain, 0, 0));
  desk.lose("gpu");
  desk.rejoin("gpu", "1", {runs(Desk::ref(plain, 0, 0), desk.now)});
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
  desk.rejoin("gpu", "1", {runs(Desk::ref(JobId("forgotten"), 0, 0), desk.now)});
  EXPECT_EQ(desk.brain.state().nodes.at(NodeId("gpu")).strangers.size(), 1U) << "nobody can say";
  desk.rejoin("gpu", "1", {});
  EXPECT_TRUE(desk.brain.state().nodes.at(NodeId("gpu")).strangers.empty());
}

// Its end is waited for, and a node tells nothing of what it was told to forget.
TEST(Devices, AStrangerIsNotForgottenBeforeItsEnd) {
  Desk desk;
  desk.devices = 1;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1)});
  const auto lost = Desk::ref(job, 0, 0);
  desk.running("gpu", lost);
  Reconciler reconciler(Epoch(1), desk.brain.state());
  desk.lose("gpu");
  const std::vector<model::Event> ended = desk.last;
  desk.rejoin("gpu", "1", {runs(lost, desk.now)});
  for (const model::NodeOrders& orders : reconciler.after(desk.brain.state(), ended)) {
    EXPECT_TRUE(orders.forget.empty());
  }
}

// It waits on the node: neither started anew nor told as running.
TEST(Devices, AnAttemptThatWaitsOnItsNodeIsThere) {
  Desk desk;
  desk.devices = 1;
  desk.join("gpu", 8);
  const JobId job = desk.submit({with_devices(1)});
  const model::RankReport waits = runs(Desk::ref(job, 0, 0), Time());
  desk.rejoin("gpu", "1", {waits});
  EXPECT_TRUE(desk.last.empty());
  const Reconciler reconciler(Epoch(1), desk.brain.state());
  EXPECT_TRUE(empty(reconciler.on_join(desk.brain.state(), NodeId("gpu"), {&waits, 1})));
}

}  // namespace
}  // namespace runnel::brain
