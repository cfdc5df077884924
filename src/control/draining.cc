#include "control/draining.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/device_variables.h"
#include "model/devices.h"

namespace runnel::control {
namespace {

using model::Devices;
using model::MachineDevice;
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

const NodeInfo* find(const std::vector<NodeInfo>& nodes, const NodeId& id) {
  const auto found =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeInfo& node) { return node.id == id; });
  return found == nodes.end() ? nullptr : &*found;
}

Devices all_devices(const Resources& capacity) {
  Devices all;
  for (const auto& [kind, count] : capacity.accelerators) {
    if (count > 0) all[kind] = IntervalSet::of(0, count);
  }
  return all;
}

std::set<MachineDevice> granted_by(const Resources& capacity) {
  return model::machine_devices(all_devices(capacity), capacity);
}

bool overlap(const std::set<MachineDevice>& a, const std::set<MachineDevice>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const MachineDevice& device) { return b.contains(device); });
}

bool counts_anew(const InUse& use, const Resources& next) {
  return model::machine_devices(use.devices, use.node.capacity) !=
         model::machine_devices(use.devices, next);
}

// Those in use that their own node will not have: nobody counts them any more.
std::set<MachineDevice> without_a_node(const InUse& use, const std::vector<NodeInfo>& named) {
  Devices left = use.devices;
  if (const NodeInfo* own = find(named, use.node.id); own != nullptr) {
    model::erase(left, all_devices(own->capacity));
  }
  return model::machine_devices(left, use.node.capacity);
}

// What a node grants already by the nodes in force is nothing new: somebody has declared it so.
std::set<MachineDevice> newly_granted(const brain::State& state, const NodeInfo& node,
                                      const NodeId& holder) {
  std::set<MachineDevice> devices = granted_by(node.capacity);
  const auto before = state.nodes.find(node.id);
  const bool grants_now = node.id != holder && before != state.nodes.end() && before->second.up &&
                          !before->second.info.withholds_devices;
  if (!grants_now) return devices;
  for (const MachineDevice& device : granted_by(before->second.info.capacity)) {
    devices.erase(device);
  }
  return devices;
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
  std::vector<NodeInfo> nodes = named;
  for (NodeInfo& node : nodes) {
    for (const InUse& use : in_use) {
      const bool is_own = use.node.id == node.id;
      if (is_own && counts_anew(use, node.capacity)) {
        node.capacity.accelerators = use.node.capacity.accelerators;
        node.withholds_devices = true;
      }
    }
    for (const InUse& use : in_use) {
      if (overlap(without_a_node(use, named), newly_granted(state, node, use.node.id))) {
        node.withholds_devices = true;
      }
    }
  }
  for (const auto& [id, node] : state.nodes) {
    if (find(named, id) != nullptr || !node.up || !has_work(state, id)) continue;
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
