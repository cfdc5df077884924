#include "sched/cluster.h"

#include <utility>

#include "base/check.h"

namespace runnel::sched {

std::int64_t shared_number(const std::set<std::int64_t>& numbers) {
  if (numbers.empty()) return 0;
  return numbers.size() == 1 ? *numbers.begin() : kNobody;
}

bool Host::idle() const {
  if (!withheld) return free == capacity;
  return free.milli_cpus == capacity.milli_cpus && free.memory == capacity.memory;
}

void Cluster::join(Host host) {
  CHECK(host.free.fits_in(host.capacity), "a host has more free than it has");
  see(host);
  hosts_[host.id] = std::move(host);
}

void Cluster::leave(const NodeId& id) {
  hosts_.erase(id);
  forget(id);
}

void Cluster::hold(const NodeId& id, const std::string& runner, std::int64_t apart,
                   std::int64_t places) {
  forget(id);
  if (runner.empty()) return;
  busy_[id] = {runner, apart, places};
  ++runners_[runner][apart];
}

// Whether the host is idle counts for the others of its runner.
void Cluster::see(const Host& host) {
  forget(host.id);
  if (!host.idle()) hold(host.id, host.runner, host.apart, 0);
}

void Cluster::forget(const NodeId& id) {
  const auto was = busy_.find(id);
  if (was == busy_.end()) return;
  const auto runner = runners_.find(was->second.runner);
  const auto count = runner->second.find(was->second.apart);
  if (--count->second == 0) runner->second.erase(count);
  if (runner->second.empty()) runners_.erase(runner);
  busy_.erase(was);
}

std::optional<std::int64_t> Cluster::apart_of(const Host& host) const {
  if (host.runner.empty()) {
    return host.idle() ? std::nullopt : std::optional(host.apart);
  }
  const auto runner = runners_.find(host.runner);
  if (runner == runners_.end()) return std::nullopt;
  return runner->second.size() == 1 ? runner->second.begin()->first : kNobody;
}

void Cluster::take(const NodeId& id, const model::Resources& amount) {
  auto found = hosts_.find(id);
  CHECK(found != hosts_.end(), "resources taken from a host that is not there");
  CHECK(amount.fits_in(found->second.free), "a host would be oversubscribed");
  found->second.free.subtract(amount);
  see(found->second);
}

void Cluster::set_apart(const NodeId& id, std::int64_t apart) {
  auto found = hosts_.find(id);
  CHECK(found != hosts_.end(), "a host is set apart that is not there");
  found->second.apart = apart;
  see(found->second);
}

void Cluster::give_back(const NodeId& id, const model::Resources& amount) {
  auto found = hosts_.find(id);
  if (found == hosts_.end()) return give_back_held(id);
  Host& host = found->second;
  host.free.add(amount.beyond(host.overdrawn));
  host.overdrawn = host.overdrawn.beyond(amount);
  CHECK(host.free.fits_in(host.capacity), "more given back than was taken");
  see(host);
}

void Cluster::give_back_held(const NodeId& id) {
  const auto held = busy_.find(id);
  if (held != busy_.end() && --held->second.places <= 0) forget(id);
}

const Host* Cluster::find(const NodeId& id) const {
  auto found = hosts_.find(id);
  return found == hosts_.end() ? nullptr : &found->second;
}

}  // namespace runnel::sched
