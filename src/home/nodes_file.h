#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "home/home.h"
#include "home/local_devices.h"
#include "model/node.h"

namespace runnel::home {

struct HomeNodes {
  std::vector<model::NodeInfo> nodes;
  std::optional<FailedLook> failed_look;  // Why `local` has no devices.
};

// The nodes of this home: nodes.yaml, else one node `local` with the machine's size and
// devices, of which `device_command` tells (local_devices.h).
Result<HomeNodes> nodes_of_home(const Home& home, const std::vector<std::string>& device_command);

}  // namespace runnel::home
