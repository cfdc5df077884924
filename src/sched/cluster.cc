#include "sched/cluster.h"

#include <utility>

#include "base/check.h"

namespace runnel::sched {

void Cluster::join(Host host) {
  CHECK(host.free.fits_in(host.capacity), "a host has more free than it has");
  hosts_[host.id] = std::move(host);
}

void Cluster::leave(const NodeId& id) { hosts_.erase(id); }

void Cluster::take(const NodeId& id, const model::Resources& amount) {
  auto found = hosts_.find(id);
  CHECK(found != hosts_.end(), "resources taken from a host that is not there");
  CHECK(amount.fits_in(found->second.free), "a host would be oversubscribed");
  found->second.free.subtract(amount);
}

void Cluster::set_apart(const NodeId& id, std::int64_t apart) {
  auto found = hosts_.find(id);
  CHECK(found != hosts_.end(), "a host is set apart that is not there");
  found->second.apart = apart;
}

void Cluster::give_back(const NodeId& id, const model::Resources& amount) {
  auto found = hosts_.find(id);
  if (found == hosts_.end()) return;
  Host& host = found->second;
  host.free.add(amount.beyond(host.overdrawn));
  host.overdrawn = host.overdrawn.beyond(amount);
  CHECK(host.free.fits_in(host.capacity), "more given back than was taken");
}

const Host* Cluster::find(const NodeId& id) const {
  auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

}  // namespace runnel::sched
