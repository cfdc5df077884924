#include "control/draining.h"

#include <gtest/gtest.h>

#include "control/nodes.h"

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
  const NodesWithDraining all = with_draining(state, {node("b"), node("c")});
  ASSERT_EQ(all.nodes.size(), 3U);
  EXPECT_EQ(all.nodes[0], node("b"));
  EXPECT_EQ(all.nodes[1], node("c"));
  EXPECT_EQ(all.nodes[2].id, NodeId("a"));
  EXPECT_EQ(all.nodes[2].capacity, model::Resources()) << "it takes nothing new";
  EXPECT_EQ(all.draining, std::vector<NodeId>{NodeId("a")});
  EXPECT_EQ(draining_notices(all).size(), 1U);
  EXPECT_FALSE(has_drained(state, all));
  state.nodes[NodeId("a")].info = all.nodes[2];
  EXPECT_EQ(nodes_of_before(state).size(), 1U) << "of a file that cannot be used";
  state.lanes.clear();
  EXPECT_TRUE(has_drained(state, all));
  EXPECT_EQ(with_draining(state, {node("b")}).nodes, std::vector<model::NodeInfo>{node("b")});
}

// Each node counts the devices of this machine from 0.
TEST(Draining, PutsTheFileOffWhileANodeThatWouldGoHoldsDevices) {
  brain::State state = state_of({node("a", 2), node("stays", 1)});
  const std::vector<model::NodeInfo> file = {node("stays", 1), node("renamed", 2)};
  for (const char* life : {"first", "second"}) {
    SCOPED_TRACE(life);
    const NodesWithDraining all = with_draining(state, file);
    EXPECT_TRUE(all.is_put_off);
    EXPECT_EQ(all.nodes, (std::vector<model::NodeInfo>{node("a", 2), node("stays", 1)}));
    EXPECT_FALSE(has_drained(state, all));
  }
  state.lanes.begin()->second.per_place.accelerators.clear();
  const NodesWithDraining then = with_draining(state, file);
  EXPECT_FALSE(then.is_put_off);
  EXPECT_EQ(then.nodes.size(), 3U);
  EXPECT_TRUE(then.nodes[2].capacity.accelerators.empty());
}

// By an earlier edit of the file, or by one that names it again.
TEST(Draining, AFileThatIsPutOffEndsNoWorkOfANodeThatIsDrained) {
  brain::State state = state_of({node("a"), node("gpu", 1)});
  state.nodes[NodeId("a")].info.capacity = model::Resources();
  for (const auto& file : {std::vector{node("other")}, std::vector{node("a"), node("other")}}) {
    const NodesWithDraining all = with_draining(state, file);
    EXPECT_TRUE(all.is_put_off);
    ASSERT_EQ(all.nodes.size(), 2U);
    EXPECT_EQ(all.nodes[0], node("gpu", 1));
    EXPECT_EQ(all.nodes[1].id, NodeId("a"));
  }
}

TEST(Draining, SaysWhatIsWaitedForAndHowToEndIt) {
  const brain::State idle = state_of({node("a")});
  const std::vector<std::string> drains = draining_notices(with_draining(idle, {node("b")}));
  ASSERT_EQ(drains.size(), 1U);
  EXPECT_NE(drains[0].find("node 'a' is not in nodes.yaml any more: what runs there goes on"),
            std::string::npos);
  EXPECT_NE(drains[0].find("runnel preempt a"), std::string::npos);
  const brain::State busy = state_of({node("a", 1), node("b", 1)});
  const std::vector<std::string> put_off = draining_notices(with_draining(busy, {node("c", 1)}));
  ASSERT_EQ(put_off.size(), 2U) << "each node that holds it up";
  for (const std::string& notice : put_off) {
    EXPECT_NE(notice.find("the nodes of before stay in force"), std::string::npos) << notice;
  }
  EXPECT_TRUE(draining_notices(with_draining(busy, {node("a", 1), node("b", 1)})).empty());
}

// One that is down has lost its work already, and is none of those of before once it has left.
TEST(Draining, ANodeThatIsDownIsNotWaitedFor) {
  brain::State state = state_of({node("a"), node("b")});
  state.nodes[NodeId("a")].up = false;
  EXPECT_TRUE(with_draining(state, {node("b")}).draining.empty());
  EXPECT_EQ(nodes_of_before(state).size(), 2U) << "it may be back";
  state.nodes[NodeId("a")].reason = std::string(kNamedNoMore);
  EXPECT_EQ(nodes_of_before(state), std::vector<model::NodeInfo>{node("b")});
}

}  // namespace
}  // namespace runnel::control
