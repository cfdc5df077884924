#pragma once

#include "brain/state.h"
#include "sched/cluster.h"
#include "sched/request.h"

// Nodes as the planner sees them.
namespace runnel::brain {

// The node with nothing on it.
sched::Host idle_host(const Node& node);

// Whether the request fits nowhere but would if it used spot nodes.
bool lacks_only_spot(sched::Request request, const sched::Cluster& cluster);

}  // namespace runnel::brain
