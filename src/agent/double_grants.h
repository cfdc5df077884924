#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "model/node.h"

namespace runnel::agent {

// A sentence for each driver whose devices several of the nodes of this machine declare: each of
// these counts from 0, so that one device is granted twice (docs/design/devices.md).
std::vector<std::string> double_grant_notices(const std::vector<model::NodeInfo>& nodes);

// "node a", "nodes a and b", "nodes a, b, c and 4 others".
std::string nodes_text(const std::vector<NodeId>& nodes);

}  // namespace runnel::agent
