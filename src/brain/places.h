#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/units.h"
#include "brain/state.h"
#include "model/event.h"

// What the places of a lane say: who runs which ranks of its gang, what that takes, and until when.
namespace runnel::brain {

// The ranks of a gang that one node runs: those of its places, which follow each other.
struct Share {
  std::int32_t first_rank = 0;
  std::int32_t rank_count = 0;

  std::int32_t end() const { return first_rank + rank_count; }
};

// Empty when the lane has no place on the node.
Share share_of(const Lane& lane, const NodeId& node);

// Each node once, in the order of the places.
std::vector<NodeId> nodes_of(const std::vector<model::Place>& places);
// Each node once on which lanes of the job are open.
std::vector<NodeId> nodes_of(const State& state, const JobId& job);

// What a place takes of its node: an amount for each of the gang's places there.
model::Resources held_by(const State& state, const Lane& lane, const model::Place& place);

// Within this a task of the step has ended, its grace included; zero: nothing bounds it.
Duration limit_of(const model::StepSpec& spec);

// When the lane's running task will have ended at the latest, if anything bounds it.
std::optional<Time> end_of_lane(const State& state, const Lane& lane);

// The node's devices that are granted to nobody, of those that it has.
model::Devices quarantined_on(const Node& node);

}  // namespace runnel::brain
