#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"

namespace runnel::spec {

// Reads `nodes.yaml` of a home: {nodes: [{name, pool, cpus, memory, accelerators, spot, price,
// colocate}]}, as strictly as a job file. At least one node; names are distinct. The first error.
Result<std::vector<model::NodeInfo>> parse_nodes_file(std::string_view text,
                                                      const std::string& file);

}  // namespace runnel::spec
