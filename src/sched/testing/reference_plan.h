#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/resources.h"
#include "sched/cluster.h"
#include "sched/plan.h"
#include "sched/request.h"

namespace runnel::sched::testing {

// The holding of a lane that runs, and when it will have ended at the latest, if that is known.
struct Running {
  NodeId node;
  model::Resources amount;
  std::optional<Time> by;
};

struct ReferenceCluster {
  struct Held {
    NodeId id;
    std::string runner;
    std::int64_t apart = 0;
    std::int64_t places = 0;
  };
  std::vector<Host> hosts;
  std::vector<Held> held;  // Hosts that take nothing.
};

// The plan by its plain definition: copies of the cluster, every host sorted for every place, every
// lane asked anew. It is what plan() must equal (docs/design/planning.md), and nobody makes it
// faster.
Plan reference_plan(const ReferenceCluster& known, const std::vector<Request>& queue,
                    const std::vector<Running>& running, Time now);

}  // namespace runnel::sched::testing
