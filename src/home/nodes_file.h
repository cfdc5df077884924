#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "home/home.h"
#include "model/node.h"

namespace runnel::home {

// The nodes of this home: nodes.yaml, else one node `local` with the machine's size and
// devices, of which `device_command` tells (local_devices.h).
Result<std::vector<model::NodeInfo>> nodes_of_home(const Home& home,
                                                   const std::vector<std::string>& device_command);

}  // namespace runnel::home
