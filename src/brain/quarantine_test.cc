#include "brain/quarantine.h"

#include <gtest/gtest.h>

#include "brain/explain.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;

// A node of eight devices, of which some vanish.
class QuarantineTest : public ::testing::Test {
 protected:
  QuarantineTest() {
    harness_.devices = 8;
    harness_.join("gpu", 64);
  }

  static model::StepSpec with_devices(std::int64_t each, std::int64_t tasks = 1) {
    model::StepSpec spec = testing::step("train", tasks);
    spec.resources.accelerators["H100"] = each;
    return spec;
  }

  model::NodeReport look(const std::vector<std::int64_t>& missing) const {
    model::NodeReport report{NodeId("gpu"), Incarnation("1"), {}};
    report.devices.emplace();
    for (const std::int64_t index : missing) {
      report.devices->missing.push_back({"H100", index, "it fell off the bus", harness_.now});
    }
    return report;
  }
  void see(const std::vector<std::int64_t>& missing) { harness_.decide(look(missing)); }

  const model::Devices& devices_of(const model::AttemptRef& attempt) const {
    const State& state = harness_.brain.state();
    return state.lanes.at(find_task(state, attempt.task)->live->lane).places().front().devices;
  }
  const Node& node() const { return harness_.brain.state().nodes.at(NodeId("gpu")); }

  BrainHarness harness_;
};

TEST_F(QuarantineTest, WhoHasAMissingDeviceMovesForFreeAndTheOthersGoOn) {
  const JobId job = harness_.submit({with_devices(1, 4)});
  for (int task = 0; task < 4; ++task) harness_.running("gpu", BrainHarness::ref(job, 0, task));
  see({1});
  const auto asked = harness_.all<model::AttemptStopping>(harness_.last);
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].attempt, BrainHarness::ref(job, 0, 1));
  harness_.ended("gpu", BrainHarness::ref(job, 0, 1), 1);
  const auto ended = harness_.all<model::AttemptEnded>(harness_.last);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].reason, "DeviceLost");
  EXPECT_EQ(ended[0].message, "its H100:1 on gpu vanished while it had it: it fell off the bus");
  EXPECT_EQ(ended[0].fault, model::Fault::kPlatform);
  EXPECT_FALSE(ended[0].charged);
  const auto again = BrainHarness::ref(job, 0, 1, 2);
  EXPECT_EQ(devices_of(again), (model::Devices{{"H100", IntervalSet::of(4, 5)}}));
  EXPECT_EQ(encode_state(harness_.replica()), encode_state(harness_.brain.state()));
}

// Its process may fail before anybody has looked: the look comes with the failure.
TEST_F(QuarantineTest, WhoFailsForWantOfItsDeviceDoesNotPay) {
  const JobId job = harness_.submit({with_devices(1)});
  harness_.running("gpu", BrainHarness::ref(job, 0, 0));
  model::NodeReport report = look({0});
  report.ranks.push_back(BrainHarness::end_of(BrainHarness::ref(job, 0, 0), 1, harness_.now));
  harness_.decide(report);
  EXPECT_EQ(harness_.job_status(job), Status::kRunning);
  EXPECT_EQ(harness_.all<model::AttemptEnded>(harness_.last).at(0).reason, "DeviceLost");
}

TEST_F(QuarantineTest, WhoIsDoneIsDone) {
  const JobId job = harness_.submit({with_devices(1)});
  harness_.running("gpu", BrainHarness::ref(job, 0, 0));
  see({0});
  harness_.ended("gpu", BrainHarness::ref(job, 0, 0), 0);
  EXPECT_EQ(harness_.job_status(job), Status::kSucceeded);
}

TEST_F(QuarantineTest, NothingIsGrantedOfItUntilItCameBackAndStayed) {
  see({0, 3});
  const JobId job = harness_.submit({with_devices(1, 8)});
  EXPECT_EQ(harness_.count(job, 0, Status::kStarting), 6);
  see({0});
  EXPECT_EQ(harness_.count(job, 0, Status::kStarting), 6);
  harness_.pass(kDeviceProof - Duration::millis(1));
  harness_.wake();
  EXPECT_EQ(harness_.count(job, 0, Status::kStarting), 6);
  EXPECT_EQ(harness_.brain.next_wake(harness_.now), harness_.now + Duration::millis(1));
  harness_.pass(Duration::millis(1));
  harness_.wake();
  EXPECT_EQ(harness_.count(job, 0, Status::kStarting), 7);
  ASSERT_EQ(node().quarantined.size(), 1U);
  EXPECT_EQ(node().quarantined[0].index, 0);
}

TEST_F(QuarantineTest, WhatVanishesAgainBeginsAnew) {
  see({0});
  see({});
  harness_.pass(Duration::seconds(30));
  see({0});
  harness_.pass(kDeviceProof);
  harness_.wake();
  ASSERT_EQ(node().quarantined.size(), 1U);
  EXPECT_EQ(node().quarantined[0].again_at, Time());
}

TEST_F(QuarantineTest, TheSameLookAgainChangesNothing) {
  see({2});
  harness_.pass(Duration::seconds(10));
  see({2});
  EXPECT_TRUE(harness_.all<model::DevicesQuarantined>(harness_.last).empty());
}

TEST_F(QuarantineTest, ItOutlivesAJoinWithoutALookAndItsDeviceIsOneOfTheNodes) {
  see({2, 8, -1});
  ASSERT_EQ(node().quarantined.size(), 1U);
  harness_.join("gpu", 64, "2");
  EXPECT_EQ(node().quarantined.size(), 1U);
}

TEST_F(QuarantineTest, WhoWaitsForItIsTold) {
  see({0});
  const JobId job = harness_.submit({with_devices(8)});
  const std::vector<Wait> waits = harness_.brain.explain(job, harness_.now).value();
  ASSERT_EQ(waits.size(), 1U);
  EXPECT_EQ(waits[0].reason, "Resources");
  EXPECT_NE(waits[0].message.find("nobody is granted H100:0 of 'gpu', missing since"),
            std::string::npos)
      << waits[0].message;
  EXPECT_NE(waits[0].remedy.find("nvidia-smi"), std::string::npos);
  see({});
  EXPECT_NE(harness_.brain.explain(job, harness_.now).value()[0].message.find("it is back"),
            std::string::npos);
}

TEST_F(QuarantineTest, AGangThatLosesOneDeviceMovesWhole) {
  harness_.devices = 2;
  harness_.join("other", 8);
  model::StepSpec gang = with_devices(2);
  gang.num_nodes = 2;
  const JobId job = harness_.submit({gang});
  const auto attempt = BrainHarness::ref(job, 0, 0);
  const std::vector<model::Place> places =
      harness_.brain.state()
          .lanes.at(find_task(harness_.brain.state(), attempt.task)->live->lane)
          .places();
  ASSERT_EQ(places.size(), 2U);
  for (int rank = 0; rank < 2; ++rank) {
    harness_.running(places[static_cast<std::size_t>(rank)].node.str(), attempt, rank);
  }
  see({1});
  EXPECT_EQ(harness_.all<model::AttemptStopping>(harness_.last).size(), 1U);
  for (int rank = 0; rank < 2; ++rank) {
    harness_.ended(places[static_cast<std::size_t>(rank)].node.str(), attempt, 0, rank,
                   model::EndCause::kStopped);
  }
  EXPECT_EQ(harness_.all<model::AttemptEnded>(harness_.last).at(0).reason, "DeviceLost");
}

}  // namespace
}  // namespace runnel::brain
