#include "brain/places.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::brain {

Share share_of(const Lane& lane, const NodeId& node) {
  Share share;
  for (const model::Place& place : lane.places) {
    if (place.node == node) {
      share.rank_count += place.ranks;
    } else if (share.rank_count == 0) {
      share.first_rank += place.ranks;
    } else {
      break;
    }
  }
  return share;
}

std::vector<NodeId> nodes_of(const std::vector<model::Place>& places) {
  std::vector<NodeId> nodes;
  for (const model::Place& place : places) {
    if (std::find(nodes.begin(), nodes.end(), place.node) == nodes.end()) {
      nodes.push_back(place.node);
    }
  }
  return nodes;
}

model::Resources held_by(const State& state, const Lane& lane, const model::Place& place) {
  const std::int32_t procs_per_node = spec_of(state, lane.job, lane.step).procs_per_node;
  CHECK(procs_per_node > 0, "a step with places of no processes");
  CHECK(place.ranks % procs_per_node == 0, "a place holds part of a node's processes");
  return lane.per_place.times(place.ranks / procs_per_node);
}

}  // namespace runnel::brain
