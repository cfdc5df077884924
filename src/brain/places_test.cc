#include "brain/places.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using testing::BrainHarness;

Lane lane_on(std::vector<model::Place> places) {
  Lane lane;
  lane.holding = model::Places{std::move(places)};
  return lane;
}

TEST(Places, GiveEachNodeTheRanksThatFollowThoseBefore) {
  const Lane lane = lane_on({{NodeId("a"), 2}, {NodeId("b"), 4}, {NodeId("c"), 2}});
  EXPECT_EQ(share_of(lane, NodeId("a")).first_rank, 0);
  EXPECT_EQ(share_of(lane, NodeId("a")).end(), 2);
  EXPECT_EQ(share_of(lane, NodeId("b")).first_rank, 2);
  EXPECT_EQ(share_of(lane, NodeId("b")).end(), 6);
  EXPECT_EQ(share_of(lane, NodeId("c")).end(), 8);
  EXPECT_EQ(share_of(lane, NodeId("d")).rank_count, 0);
}

TEST(Places, OfOneNodeThatFollowEachOtherAreOneShare) {
  const Lane lane = lane_on({{NodeId("a"), 1}, {NodeId("b"), 1}, {NodeId("b"), 2}});
  EXPECT_EQ(share_of(lane, NodeId("b")).first_rank, 1);
  EXPECT_EQ(share_of(lane, NodeId("b")).rank_count, 3);
  EXPECT_EQ(nodes_of(lane.places()), (std::vector<NodeId>{NodeId("a"), NodeId("b")}));
}

TEST(Places, TakeAnAmountForEachOfTheGangsPlaces) {
  BrainHarness harness;
  harness.colocate = true;
  harness.join("a", 8);
  model::StepSpec gang = testing::step("gang");
  gang.num_nodes = 3;
  gang.procs_per_node = 2;
  harness.submit({gang});
  const Lane& lane = harness.brain.state().lanes.begin()->second;
  ASSERT_EQ(lane.places().size(), 1U);
  EXPECT_EQ(lane.places()[0].ranks, 6);
  EXPECT_EQ(held_by(harness.brain.state(), lane, lane.places()[0]).milli_cpus, 3'000);
}

TEST(Places, OfAJobAreThoseOfItsOpenLanes) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 2);
  model::StepSpec many = testing::step("many");
  many.task_count = 3;
  const JobId job = harness.submit({many});
  const JobId one = harness.submit({testing::step("one")});
  const State& state = harness.brain.state();
  EXPECT_EQ(nodes_of(state, job), (std::vector<NodeId>{NodeId("a"), NodeId("b")}));
  EXPECT_EQ(nodes_of(state, one).size(), 1U);
  EXPECT_TRUE(nodes_of(state, JobId("unknown")).empty());
  const JobId waits = harness.submit({testing::step("waits")});
  EXPECT_TRUE(nodes_of(state, waits).empty());
}

}  // namespace
}  // namespace runnel::brain
