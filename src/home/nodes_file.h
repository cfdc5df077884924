#pragma once

#include <vector>

#include "base/result.h"
#include "home/home.h"
#include "model/node.h"

namespace runnel::home {

// The nodes of this home: nodes.yaml, else one node `local` with the machine's size.
Result<std::vector<model::NodeInfo>> nodes_of_home(const Home& home);

}  // namespace runnel::home
