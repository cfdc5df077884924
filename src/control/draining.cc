#include "control/draining.h"

#include <algorithm>
#include <map>
#include <utility>

#include "model/device_variables.h"
#include "model/devices.h"

namespace runnel::control {
namespace {

using model::Devices;
using model::NodeInfo;
using model::Resources;

// The devices of a node that its tasks hold.
struct InUse {
  NodeInfo node;  // As it was when they were granted.
  Devices devices;
};

std::vector<InUse> devices_in_use(const brain::State& state) {
  std::vector<InUse> all;
  for (const auto& [id, lane] : state.lanes) {
    for (const model::Place& place : lane.places()) {
      const auto node = state.nodes.find(place.node);
      if (place.devices.empty() || node == state.nodes.end()) continue;
      all.push_back({node->second.info, place.devices});
    }
  }
  return all;
}

bool has_work(const brain::State& state, const NodeId& node) {
  return std::any_of(state.lanes.begin(), state.lanes.end(), [&](const auto& entry) {
    const std::vector<model::Place>& places = entry.second.places();
    return std::any_of(places.begin(), places.end(),
                       [&](const model::Place& place) { return place.node == node; });
  });
}

using NodesById = std::map<NodeId, const NodeInfo*>;

NodesById by_id(const std::vector<NodeInfo>& nodes) {
  NodesById found;
  for (const NodeInfo& node : nodes) found[node.id] = &node;
  return found;
}

Devices all_devices(const Resources& capacity) {
  Devices all;
  for (const auto& [kind, count] : capacity.accelerators) {
    if (count > 0) all[kind] = IntervalSet::of(0, count);
  }
  return all;
}

// Of the machine.
Devices granted_by(const Resources& capacity) {
  return model::machine_devices(all_devices(capacity), capacity);
}

bool counts_anew(const InUse& use, const Resources& next) {
  return model::machine_devices(use.devices, use.node.capacity) !=
         model::machine_devices(use.devices, next);
}

// Devices of the machine in use that their own node will not have: nobody counts them any more.
struct WithoutNode {
  NodeId holder;
  Devices devices;
};

std::vector<WithoutNode> devices_without_node(const std::vector<InUse>& in_use,
                                              const NodesById& named) {
  std::vector<WithoutNode> all;
  for (const InUse& use : in_use) {
    Devices left = use.devices;
    if (const auto own = named.find(use.node.id); own != named.end()) {
      model::erase(left, all_devices(own->second->capacity));
    }
    if (left.empty()) continue;
    all.push_back({use.node.id, model::machine_devices(left, use.node.capacity)});
  }
  return all;
}

// Those of the machine that the file declares on two nodes.
Devices declared_twice(const std::vector<NodeInfo>& named) {
  Devices once;
  Devices twice;
  for (const NodeInfo& node : named) {
    Devices again = granted_by(node.capacity);
    Devices news = again;
    model::erase(news, once);
    model::erase(again, news);
    model::insert(once, news);
    model::insert(twice, again);
  }
  return twice;
}

// What a node grants already by the nodes in force.
Devices granted_now(const brain::State& state, const NodeId& id) {
  const auto node = state.nodes.find(id);
  const bool grants = node != state.nodes.end() && node->second.up && !node->second.info.draining &&
                      !node->second.info.withholds_devices;
  return grants ? granted_by(node->second.info.capacity) : Devices();
}

// What the file still declares twice is left as it is where it is granted already.
bool would_grant_again(const brain::State& state, const NodeInfo& node,
                       const std::vector<WithoutNode>& without_node, const Devices& twice) {
  if (without_node.empty()) return false;
  const Devices granted = granted_by(node.capacity);
  Devices once = granted;
  model::erase(once, twice);
  Devices newly = granted;
  model::erase(newly, granted_now(state, node.id));
  model::insert(newly, once);
  return std::any_of(without_node.begin(), without_node.end(), [&](const WithoutNode& use) {
    return model::overlap(use.devices, use.holder == node.id ? granted : newly);
  });
}

void keep_the_count(NodeInfo& node, const std::vector<InUse>& in_use) {
  for (const InUse& use : in_use) {
    if (use.node.id != node.id || !counts_anew(use, node.capacity)) continue;
    node.capacity.accelerators = use.node.capacity.accelerators;
    node.withholds_devices = true;
  }
}

NodeInfo draining(NodeInfo node) {
  node.runner.clear();
  node.withholds_devices = false;
  node.draining = true;
  return node;
}

}  // namespace

std::vector<NodeInfo> nodes_in_force(const brain::State& state,
                                     const std::vector<NodeInfo>& named) {
  const std::vector<InUse> in_use = devices_in_use(state);
  const NodesById by_name = by_id(named);
  const std::vector<WithoutNode> without_node = devices_without_node(in_use, by_name);
  const Devices twice = without_node.empty() ? Devices() : declared_twice(named);
  std::vector<NodeInfo> nodes = named;
  for (NodeInfo& node : nodes) {
    keep_the_count(node, in_use);
    if (would_grant_again(state, node, without_node, twice)) node.withholds_devices = true;
  }
  for (const auto& [id, node] : state.nodes) {
    if (by_name.contains(id) || !node.up || !has_work(state, id)) continue;
    nodes.push_back(draining(node.info));
  }
  return nodes;
}

bool are_for_now(const std::vector<NodeInfo>& nodes) {
  return std::any_of(nodes.begin(), nodes.end(),
                     [](const NodeInfo& node) { return node.draining || node.withholds_devices; });
}

std::vector<NodeInfo> nodes_of_before(const brain::State& state) {
  std::vector<NodeInfo> nodes;
  for (const auto& [id, node] : state.nodes) {
    const bool has_left = !node.up && node.reason == model::kLeftReason;
    if (has_left || node.info.draining) continue;
    nodes.push_back(node.info);
    nodes.back().runner.clear();
    nodes.back().withholds_devices = false;
  }
  return nodes;
}

std::vector<std::string> draining_notices(const std::vector<NodeInfo>& nodes) {
  std::vector<std::string> notices;
  for (const NodeInfo& node : nodes) {
    const std::string name = "node '" + node.id.str() + "'";
    if (node.draining) {
      notices.push_back(name +
                        " is not in nodes.yaml any more: what runs there goes on, nothing else "
                        "begins there, and the node goes with the last of it; to end it now: "
                        "runnel preempt " +
                        node.id.str());
    } else if (node.withholds_devices) {
      notices.push_back(name +
                        " grants no devices yet: tasks that began before nodes.yaml was changed "
                        "have some of them; which: runnel nodes");
    }
  }
  return notices;
}

}  // namespace runnel::control
