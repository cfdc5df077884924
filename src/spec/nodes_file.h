#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/cost.h"
#include "model/node.h"

namespace runnel::spec {

// Reads `nodes.yaml` of a home: {nodes: [{name, pool, cpus, memory, accelerators, instance, spot,
// price, spot_price, colocate}]}, as strictly as a job file. A node without a price has that of its
// `instance`, else of the cheapest type that holds it. At least one node; names are distinct. The
// first error.
Result<std::vector<model::NodeInfo>> parse_nodes_file(
    std::string_view text, const std::string& file,
    const std::vector<model::InstanceType>& types = {});

}  // namespace runnel::spec
