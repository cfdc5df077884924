#pragma once

#include <string>
#include <vector>

#include "brain/state.h"
#include "model/node.h"

namespace runnel::control {

// An edit of nodes.yaml ends nobody's work, and grants no device twice (docs/design/control.md,
// "Draining"). What is decided here is pure, so that a daemon that is killed decides it again.

// The nodes that serve, of those that the file names: one that it does not name is draining while
// it has work. One that would grant a device that a task has by what it, or another, was before
// withholds its devices until that task has ended; where it would count devices in use anew, it
// also keeps those that it had.
std::vector<model::NodeInfo> nodes_in_force(const brain::State& state,
                                            const std::vector<model::NodeInfo>& named);

// Whether the end of some work changes what is in force.
bool are_for_now(const std::vector<model::NodeInfo>& nodes);

// The nodes of before, as their file told them. One that is down may be back; one that drains, or
// has left, is none of them.
std::vector<model::NodeInfo> nodes_of_before(const brain::State& state);

// What a person should know: sentences.
std::vector<std::string> draining_notices(const std::vector<model::NodeInfo>& nodes);

}  // namespace runnel::control
