#pragma once

#include "brain/state.h"
#include "sched/cluster.h"

// Nodes as the planner sees them.
namespace runnel::brain {

// The node with nothing on it.
sched::Host idle_host(const Node& node);

// Every node ever seen with nothing on it, also those that are down now: they may come back.
sched::Cluster known_nodes(const State& state);

}  // namespace runnel::brain
