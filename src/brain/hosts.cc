#include "brain/hosts.h"

namespace runnel::brain {

sched::Host idle_host(const Node& node) {
  return {node.info.id,
          node.info.pool,
          node.info.capacity,
          node.info.capacity,
          node.info.colocate ? sched::Sharing::kColocate : sched::Sharing::kOnePlacePerGang,
          node.info.spot ? sched::Tenure::kSpot : sched::Tenure::kLasting};
}

sched::Cluster known_nodes(const State& state) {
  sched::Cluster cluster;
  for (const auto& [id, node] : state.nodes) cluster.join(idle_host(node));
  return cluster;
}

}  // namespace runnel::brain
