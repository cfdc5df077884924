#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "brain/state.h"
#include "model/node.h"

namespace runnel::control {

// Nodes that nodes.yaml names no more while work is going on there: they take nothing new, and are
// kept until it has ended, so that an edit of the file ends nobody's work.

// The nodes that the file names, and those of the log's that are to be drained. While one of these
// holds devices, no node that joins has any: on one machine they would be the same.
std::vector<model::NodeInfo> with_draining(const brain::State& state,
                                           std::vector<model::NodeInfo> named);

// Those of `nodes` that the file does not name.
std::vector<NodeId> draining_among(const std::vector<model::NodeInfo>& nodes,
                                   const std::vector<model::NodeInfo>& named);

bool has_work(const brain::State& state, const NodeId& node);

// "node 'a' is not in nodes.yaml any more: what runs there goes on, ..."
std::string draining_notice(const NodeId& node);

}  // namespace runnel::control
