#include "agent/double_grants.h"

#include <algorithm>

#include "base/check.h"
#include "model/device_variables.h"

namespace runnel::agent {
namespace {

constexpr std::size_t kNamed = 3;

// The nodes that declare devices of one driver, each once.
struct Sharers {
  std::string kind;  // The first that is declared.
  std::vector<NodeId> nodes;
};

void declare(std::vector<Sharers>& drivers, const NodeId& node, const std::string& kind) {
  auto driver = std::ranges::find_if(
      drivers, [&](const Sharers& sharers) { return model::have_one_driver(sharers.kind, kind); });
  if (driver == drivers.end()) driver = drivers.insert(driver, {kind, {}});
  if (driver->nodes.empty() || driver->nodes.back() != node) driver->nodes.push_back(node);
}

std::string notice(const Sharers& sharers) {
  return nodes_text(sharers.nodes) + " declare devices of one maker (" + sharers.kind +
         ") on this machine: each counts them from 0, so one device is given to tasks of several; "
         "declare them all on one node";
}

}  // namespace

std::vector<std::string> double_grant_notices(const std::vector<model::NodeInfo>& nodes) {
  std::vector<Sharers> drivers;
  for (const model::NodeInfo& node : nodes) {
    if (node.draining || node.withholds_devices) continue;  // Until the others have let go of them.
    for (const auto& [kind, count] : node.capacity.accelerators) declare(drivers, node.id, kind);
  }
  std::vector<std::string> notices;
  for (const Sharers& sharers : drivers) {
    if (sharers.nodes.size() > 1) notices.push_back(notice(sharers));
  }
  return notices;
}

std::string nodes_text(const std::vector<NodeId>& nodes) {
  CHECK(!nodes.empty(), "no node is named");
  if (nodes.size() == 1) return "node " + nodes.front().str();
  const bool all = nodes.size() <= kNamed;
  const std::size_t listed = all ? nodes.size() - 1 : kNamed;
  std::string text = "nodes " + nodes.front().str();
  for (std::size_t at = 1; at < listed; ++at) text += ", " + nodes[at].str();
  const std::string rest =
      all ? nodes.back().str() : std::to_string(nodes.size() - kNamed) + " others";
  return text + " and " + rest;
}

}  // namespace runnel::agent
