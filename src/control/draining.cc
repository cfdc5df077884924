#include "control/draining.h"

#include <algorithm>
#include <utility>

namespace runnel::control {
namespace {

bool is_named(const NodeId& node, const std::vector<model::NodeInfo>& named) {
  return std::any_of(named.begin(), named.end(),
                     [&](const model::NodeInfo& each) { return each.id == node; });
}

bool is_at(const brain::Lane& lane, const NodeId& node) {
  return std::any_of(lane.places().begin(), lane.places().end(),
                     [&](const model::Place& place) { return place.node == node; });
}

bool holds_devices(const brain::State& state, const NodeId& node) {
  return std::any_of(state.lanes.begin(), state.lanes.end(), [&](const auto& entry) {
    return !entry.second.per_place.accelerators.empty() && is_at(entry.second, node);
  });
}

// One that is smaller than what runs on it gets nothing more.
model::NodeInfo drained(model::NodeInfo node) {
  node.capacity.milli_cpus = 0;
  node.capacity.memory = Bytes();
  node.runner.clear();
  return node;
}

}  // namespace

bool has_work(const brain::State& state, const NodeId& node) {
  return std::any_of(state.lanes.begin(), state.lanes.end(),
                     [&](const auto& entry) { return is_at(entry.second, node); });
}

std::vector<model::NodeInfo> with_draining(const brain::State& state,
                                           std::vector<model::NodeInfo> named) {
  std::vector<model::NodeInfo> draining;
  bool hold_devices = false;
  for (const auto& [id, node] : state.nodes) {
    if (is_named(id, named) || !node.up || !has_work(state, id)) continue;
    draining.push_back(drained(node.info));
    hold_devices |= holds_devices(state, id);
  }
  for (model::NodeInfo& node : named) {
    const auto known = state.nodes.find(node.id);
    const bool joins = known == state.nodes.end() || !known->second.up;
    if (hold_devices && joins) node.capacity.accelerators.clear();
  }
  named.insert(named.end(), std::make_move_iterator(draining.begin()),
               std::make_move_iterator(draining.end()));
  return named;
}

std::vector<NodeId> draining_among(const std::vector<model::NodeInfo>& nodes,
                                   const std::vector<model::NodeInfo>& named) {
  std::vector<NodeId> draining;
  for (const model::NodeInfo& node : nodes) {
    if (!is_named(node.id, named)) draining.push_back(node.id);
  }
  return draining;
}

std::string draining_notice(const NodeId& node) {
  return "node '" + node.str() +
         "' is not in nodes.yaml any more: what runs there goes on, nothing else begins there, and "
         "the node goes with the last of it; to end it now: runnel preempt " +
         node.str();
}

}  // namespace runnel::control
