#include "control/draining.h"

#include <algorithm>
#include <utility>

#include "control/nodes.h"

namespace runnel::control {
namespace {

bool is_at(const brain::Lane& lane, const NodeId& node) {
  return std::any_of(lane.places().begin(), lane.places().end(),
                     [&](const model::Place& place) { return place.node == node; });
}

bool has_work(const brain::State& state, const NodeId& node) {
  return std::any_of(state.lanes.begin(), state.lanes.end(),
                     [&](const auto& entry) { return is_at(entry.second, node); });
}

bool holds_devices(const brain::State& state, const NodeId& node) {
  return std::any_of(state.lanes.begin(), state.lanes.end(), [&](const auto& entry) {
    return !entry.second.per_place.accelerators.empty() && is_at(entry.second, node);
  });
}

bool any_holds_devices(const brain::State& state, const std::vector<NodeId>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [&](const NodeId& node) { return holds_devices(state, node); });
}

// One that is smaller than what runs on it gets nothing more.
model::NodeInfo drained(model::NodeInfo node) {
  node.capacity = model::Resources();
  node.runner.clear();
  return node;
}

bool is_drained(const model::NodeInfo& node) { return node.capacity == model::Resources(); }

// Those of before, and those that an earlier file had drained already.
std::vector<model::NodeInfo> all_that_work(const brain::State& state) {
  std::vector<model::NodeInfo> nodes = nodes_of_before(state);
  for (const auto& [id, node] : state.nodes) {
    if (node.up && is_drained(node.info) && has_work(state, id)) {
      nodes.push_back(drained(node.info));
    }
  }
  return nodes;
}

}  // namespace

NodesWithDraining with_draining(const brain::State& state, std::vector<model::NodeInfo> named) {
  NodesWithDraining all{.nodes = std::move(named)};
  std::vector<model::NodeInfo> removed;
  for (const auto& [id, node] : state.nodes) {
    const bool is_named = std::any_of(all.nodes.begin(), all.nodes.end(),
                                      [&](const auto& each) { return each.id == id; });
    if (is_named || !node.up || !has_work(state, id)) continue;
    removed.push_back(drained(node.info));
    all.draining.push_back(id);
  }
  all.is_put_off = any_holds_devices(state, all.draining);
  if (all.is_put_off) {
    all.nodes = all_that_work(state);
  } else {
    all.nodes.insert(all.nodes.end(), removed.begin(), removed.end());
  }
  return all;
}

bool has_drained(const brain::State& state, const NodesWithDraining& nodes) {
  if (nodes.is_put_off) return !any_holds_devices(state, nodes.draining);
  return std::any_of(nodes.draining.begin(), nodes.draining.end(),
                     [&](const NodeId& node) { return !has_work(state, node); });
}

std::vector<model::NodeInfo> nodes_of_before(const brain::State& state) {
  std::vector<model::NodeInfo> nodes;
  for (const auto& [id, node] : state.nodes) {
    const bool has_left = !node.up && node.reason == kNamedNoMore;
    if (has_left || is_drained(node.info)) continue;
    nodes.push_back(node.info);
    nodes.back().runner.clear();
  }
  return nodes;
}

std::vector<std::string> draining_notices(const NodesWithDraining& nodes) {
  std::vector<std::string> notices;
  for (const NodeId& node : nodes.draining) {
    const std::string begin = "node '" + node.str() + "' is not in nodes.yaml any more: ";
    const std::string end = "; to end it now: runnel preempt " + node.str();
    notices.push_back(
        begin +
        (nodes.is_put_off
             ? "tasks there hold devices, which no other node may grant meanwhile, so the "
               "nodes of before stay in force until these have ended"
             : "what runs there goes on, nothing else begins there, and the node goes with "
               "the last of it") +
        end);
  }
  return notices;
}

}  // namespace runnel::control
