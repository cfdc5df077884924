#include "brain/hosts.h"

#include "sched/place.h"

namespace runnel::brain {

sched::Host idle_host(const Node& node) {
  return {
      .id = node.info.id,
      .pool = node.info.pool,
      .capacity = node.info.capacity,
      .free = node.info.capacity,
      .sharing = node.info.colocate ? sched::Sharing::kColocate : sched::Sharing::kOnePlacePerGang,
      .tenure = node.info.spot ? sched::Tenure::kSpot : sched::Tenure::kLasting,
      .runner = node.info.runner};
}

bool lacks_only_spot(sched::Request request, const sched::Cluster& cluster) {
  if (request.spot_use == sched::SpotUse::kPreferred) return false;
  request.spot_use = sched::SpotUse::kPreferred;
  return sched::feasible(request, cluster);
}

}  // namespace runnel::brain
