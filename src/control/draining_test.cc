#include "control/draining.h"

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

model::NodeInfo node(const char* id, std::int64_t gpus = 0) {
  model::NodeInfo info;
  info.id = NodeId(id);
  info.capacity.milli_cpus = 4'000;
  info.capacity.memory = Bytes::gibi(8);
  if (gpus > 0) info.capacity.accelerators["H100"] = gpus;
  return info;
}

// With a task on each of these nodes.
brain::State state_of(const std::vector<model::NodeInfo>& nodes) {
  brain::State state;
  for (const model::NodeInfo& info : nodes) {
    state.nodes[info.id].info = info;
    state.nodes[info.id].up = true;
    const LaneId id(static_cast<std::int64_t>(state.lanes.size()) + 1);
    brain::Lane& lane = state.lanes[id];
    lane.id = id;
    lane.holding = model::Places{{{info.id, 1, {}}}};
    if (!info.capacity.accelerators.empty()) lane.per_place.accelerators["H100"] = 1;
  }
  return state;
}

TEST(Draining, KeepsANodeForAsLongAsWorkGoesOnThere) {
  brain::State state = state_of({node("a"), node("b")});
  state.nodes[NodeId("idle")].up = true;
  const std::vector<model::NodeInfo> nodes = with_draining(state, {node("b"), node("c")});
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0], node("b"));
  EXPECT_EQ(nodes[1], node("c"));
  EXPECT_EQ(nodes[2].id, NodeId("a"));
  EXPECT_EQ(nodes[2].capacity, model::Resources()) << "it takes nothing new";
  EXPECT_EQ(draining_among(nodes, {node("b"), node("c")}), std::vector<NodeId>{NodeId("a")});
  EXPECT_TRUE(has_work(state, NodeId("a")));
  state.lanes.clear();
  EXPECT_FALSE(has_work(state, NodeId("a")));
  EXPECT_EQ(with_draining(state, {node("b")}), std::vector<model::NodeInfo>{node("b")});
}

TEST(Draining, ADeviceIsNotGrantedByTwoNodesOfOneMachine) {
  const brain::State state = state_of({node("a", 2), node("stays", 1)});
  const std::vector<model::NodeInfo> nodes =
      with_draining(state, {node("stays", 1), node("renamed", 2)});
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_EQ(nodes[0], node("stays", 1));
  EXPECT_TRUE(nodes[1].capacity.accelerators.empty()) << "until 'a' has gone";
  EXPECT_EQ(nodes[2].capacity.accelerators, node("a", 2).capacity.accelerators);
}

}  // namespace
}  // namespace runnel::control
