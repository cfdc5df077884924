#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "brain/state.h"
#include "model/node.h"

namespace runnel::control {

// Nodes that nodes.yaml names no more while work is going on there: they take nothing new, and are
// kept until it has ended, so that an edit of the file ends nobody's work.

// The nodes that serve, and what of the file is waited for.
struct NodesWithDraining {
  std::vector<model::NodeInfo> nodes;
  std::vector<NodeId> draining;  // Those of them that the file does not name.
  // The draining ones hold devices, which another node of this machine would grant once more: the
  // file is not in force, and all nodes are those of before.
  bool is_put_off = false;
};

// `named`: those of the file.
NodesWithDraining with_draining(const brain::State& state, std::vector<model::NodeInfo> named);

// Whether more of the file may be in force: the work of a draining node has ended, or, where the
// file was put off, none of them holds a device.
bool has_drained(const brain::State& state, const NodesWithDraining& nodes);

// The nodes of before, as their file told them. One that is down may be back; one that was drained
// is none of them.
std::vector<model::NodeInfo> nodes_of_before(const brain::State& state);

// What a person should know: sentences.
std::vector<std::string> draining_notices(const NodesWithDraining& nodes);

}  // namespace runnel::control
