#include "control/draining.h"

#include <string>
#include <vector>

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

// With a task on each of these nodes, which holds the first device where there is one.
brain::State state_of(const std::vector<model::NodeInfo>& nodes) {
  brain::State state;
  for (const model::NodeInfo& info : nodes) {
    state.nodes[info.id].info = info;
    state.nodes[info.id].up = true;
    const LaneId id(static_cast<std::int64_t>(state.lanes.size()) + 1);
    brain::Lane& lane = state.lanes[id];
    lane.id = id;
    model::Place place{info.id, 1, {}};
    if (!info.capacity.accelerators.empty()) {
      place.devices[info.capacity.accelerators.begin()->first].insert(0);
    }
    lane.holding = model::Places{{place}};
  }
  return state;
}

void hold(brain::State& state, const char* node, const char* kind, std::int64_t index) {
  for (auto& [id, lane] : state.lanes) {
    if (lane.places().front().node != NodeId(node)) continue;
    model::Place place = lane.places().front();
    place.devices.clear();
    place.devices[kind].insert(index);
    lane.holding = model::Places{{place}};
  }
}

// As their joins tell the brain.
void take(brain::State& state, const std::vector<model::NodeInfo>& nodes) {
  for (const model::NodeInfo& info : nodes) {
    state.nodes[info.id].info = info;
    state.nodes[info.id].up = true;
  }
}

// The ids of those that withhold their devices, and of those that drain.
std::string held_back(const std::vector<model::NodeInfo>& nodes) {
  std::string text;
  for (const model::NodeInfo& info : nodes) {
    if (info.withholds_devices) text += "withholds " + info.id.str() + ";";
    if (info.draining) text += "drains " + info.id.str() + ";";
  }
  return text;
}

using Infos = std::vector<model::NodeInfo>;

TEST(Draining, KeepsANodeForAsLongAsWorkGoesOnThere) {
  brain::State state = state_of({node("a", 1), node("b")});
  state.nodes[NodeId("idle")].up = true;
  const Infos all = nodes_in_force(state, {node("b"), node("c")});
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0], node("b"));
  EXPECT_EQ(all[1], node("c"));
  EXPECT_EQ(held_back(all), "drains a;");
  EXPECT_EQ(all[2].capacity, node("a", 1).capacity) << "what it has may be waited for";
  EXPECT_TRUE(are_for_now(all));
  take(state, all);
  EXPECT_EQ(nodes_in_force(state, {node("b"), node("c")}), all) << "of the next life";
  EXPECT_EQ(nodes_of_before(state).size(), 3U) << "of a file that cannot be used: b, c and idle";
  state.lanes.clear();
  EXPECT_EQ(nodes_in_force(state, {node("b")}), Infos{node("b")});
  EXPECT_FALSE(are_for_now({node("b")}));
}

// Each node counts the devices of this machine from 0.
TEST(Draining, NoOtherNodeGrantsADeviceThatIsInUse) {
  brain::State state = state_of({node("a", 2), node("stays", 1)});
  hold(state, "a", "H100", 1);
  const Infos file = {node("stays", 1), node("renamed", 2), node("more", 0)};
  for (const char* life : {"first", "second"}) {
    SCOPED_TRACE(life);
    const Infos all = nodes_in_force(state, file);
    EXPECT_EQ(held_back(all), "withholds renamed;drains a;");
    EXPECT_EQ(all[1].capacity, file[1].capacity) << "jobs may wait for them";
    take(state, all);
  }
  hold(state, "a", "A100", 0);
  EXPECT_EQ(held_back(nodes_in_force(state, file)), "withholds renamed;drains a;")
      << "by whatever name it was granted";
  state.lanes.erase(state.lanes.begin());
  EXPECT_EQ(nodes_in_force(state, file), file);
}

TEST(Draining, ADeviceMovesToANodeThatIsNamedTooOnlyWhenItIsFree) {
  brain::State state = state_of({node("a", 2), node("b")});
  hold(state, "a", "H100", 1);
  const Infos fewer = {node("a", 1), node("b")};
  EXPECT_EQ(nodes_in_force(state, fewer), fewer) << "nobody else has it";
  const Infos moved = {node("a"), node("b", 2)};
  EXPECT_EQ(held_back(nodes_in_force(state, moved)), "withholds b;");
  take(state, nodes_in_force(state, moved));
  EXPECT_EQ(held_back(nodes_in_force(state, moved)), "withholds b;");
  state.lanes.clear();
  EXPECT_EQ(nodes_in_force(state, moved), moved);
}

TEST(Draining, ANodeWhoseDevicesGetAnotherNameGrantsThemWhenTheyAreFree) {
  brain::State state = state_of({node("a", 2)});
  model::NodeInfo next = node("a");
  next.capacity.accelerators["H200"] = 2;
  take(state, nodes_in_force(state, {next}));
  EXPECT_EQ(held_back(nodes_in_force(state, {next})), "withholds a;");
  state.lanes.clear();
  EXPECT_EQ(nodes_in_force(state, {next}), Infos{next});
}

// H100 are counted before L4: one more of the former would make another device of L4:0.
TEST(Draining, ANodeCountsDevicesInUseAsBefore) {
  model::NodeInfo before = node("a", 1);
  before.capacity.accelerators["L4"] = 1;
  model::NodeInfo next = before;
  next.capacity.accelerators["H100"] = 2;
  brain::State state = state_of({before});
  hold(state, "a", "L4", 0);
  for (const char* life : {"first", "second"}) {
    SCOPED_TRACE(life);
    const Infos all = nodes_in_force(state, {next});
    EXPECT_EQ(held_back(all), "withholds a;");
    EXPECT_EQ(all[0].capacity, before.capacity);
    take(state, all);
  }
  hold(state, "a", "H100", 0);
  EXPECT_EQ(nodes_in_force(state, {next}), Infos{next});
}

// Which drains while its file is put back for a moment, and has work that needs no device.
TEST(Draining, ANodeThatDrainsGrantsNothingYet) {
  brain::State state = state_of({node("a", 2)});
  take(state, nodes_in_force(state, {node("b", 2)}));
  const LaneId id(7);
  state.lanes[id].id = id;
  state.lanes[id].holding = model::Places{{model::Place{NodeId("b"), 1, {}}}};
  take(state, nodes_in_force(state, {node("a", 2)}));
  EXPECT_TRUE(state.nodes[NodeId("b")].info.draining);
  EXPECT_EQ(held_back(nodes_in_force(state, {node("b", 2)})), "withholds b;drains a;");
}

// `runnel home` warns of it, and no edit of the file makes it worse.
TEST(Draining, DevicesThatTheFileDeclaresTwiceAreLeftAsTheyAreUntilItDeclaresThemOnce) {
  brain::State state = state_of({node("a", 2), node("b", 2)});
  EXPECT_EQ(held_back(nodes_in_force(state, {node("a", 2), node("b", 2)})), "");
  const Infos once = nodes_in_force(state, {node("b", 2)});
  EXPECT_EQ(held_back(once), "withholds b;drains a;");
  take(state, once);
  state.lanes.erase(LaneId(1));
  EXPECT_EQ(held_back(nodes_in_force(state, {node("b", 2)})), "");
}

TEST(Draining, SaysWhatIsWaitedForAndHowToEndIt) {
  const brain::State state = state_of({node("a", 1)});
  const std::vector<std::string> notices = draining_notices(nodes_in_force(state, {node("b", 1)}));
  ASSERT_EQ(notices.size(), 2U);
  EXPECT_EQ(notices[0].find("node 'b' grants no devices yet"), 0U) << notices[0];
  EXPECT_EQ(notices[1].find("node 'a' is not in nodes.yaml any more: what runs there goes on"), 0U);
  EXPECT_NE(notices[1].find("runnel preempt a"), std::string::npos);
  EXPECT_TRUE(draining_notices({node("a", 1)}).empty());
}

// One that is down has lost its work already, and is none of those of before once it has left.
TEST(Draining, ANodeThatIsDownIsNotWaitedFor) {
  brain::State state = state_of({node("a"), node("b")});
  state.nodes[NodeId("a")].up = false;
  EXPECT_EQ(nodes_in_force(state, {node("b")}), Infos{node("b")});
  EXPECT_EQ(nodes_of_before(state).size(), 2U) << "it may be back";
  state.nodes[NodeId("a")].reason = std::string(model::kLeftReason);
  EXPECT_EQ(nodes_of_before(state), Infos{node("b")});
}

}  // namespace
}  // namespace runnel::control
