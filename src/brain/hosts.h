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

// Every node ever seen with nothing on it, also those that are down now: they may come back.
sched::Cluster known_nodes(const State& state);

}  // namespace runnel::brain
