#include "sched/cluster.h"

#include <utility>

#include "base/check.h"

namespace runnel::sched {

bool Host::idle() const {
  if (!withheld) return free == capacity;
  return free.milli_cpus == capacity.milli_cpus && free.memory == capacity.memory;
}

Cluster Cluster::draft() const {
  CHECK(base_ == nullptr, "a draft of a draft: copy it");
  Cluster draft;
  draft.base_ = this;
  draft.company_ = Company::over(company_);
  return draft;
}

void Cluster::join(Host host) {
  CHECK(base_ == nullptr, "a host joins a draft");
  CHECK(host.free.fits_in(host.capacity), "a host has more free than it has");
  see(host);
  hosts_[host.id] = std::move(host);
}

void Cluster::leave(const NodeId& id) {
  CHECK(base_ == nullptr, "a host leaves a draft");
  hosts_.erase(id);
  company_.forget(id);
}

void Cluster::hold(const NodeId& id, const std::string& runner, std::int64_t apart,
                   std::int64_t places) {
  company_.hold(id, runner, apart, places);
}

// Whether the host is idle counts for the others of its runner.
void Cluster::see(const Host& host) {
  if (host.idle()) {
    company_.forget(host.id);
  } else {
    company_.hold(host.id, host.runner, host.apart, 0);
  }
}

std::optional<std::int64_t> Cluster::apart_of(const Host& host) const {
  if (!host.runner.empty()) return company_.number_of(host.runner);
  return host.idle() ? std::nullopt : std::optional(host.apart);
}

void Cluster::take(const NodeId& id, const model::Resources& amount) {
  Host* host = change(id);
  CHECK(host != nullptr, "resources taken from a host that is not there");
  CHECK(amount.fits_in(host->free), "a host would be oversubscribed");
  host->free.subtract(amount);
  see(*host);
}

void Cluster::set_apart(const NodeId& id, std::int64_t apart) {
  Host* host = change(id);
  CHECK(host != nullptr, "a host is set apart that is not there");
  host->apart = apart;
  see(*host);
}

const Host* Cluster::give_back(const NodeId& id, const model::Resources& amount) {
  Host* host = change(id);
  if (host == nullptr) {
    company_.give_back(id);
    return nullptr;
  }
  host->free.add(amount.beyond(host->overdrawn));
  host->overdrawn = host->overdrawn.beyond(amount);
  CHECK(host->free.fits_in(host->capacity), "more given back than was taken");
  if (!host->runner.empty()) see(*host);
  return host;
}

// The host to be changed; of a draft its own copy.
Host* Cluster::change(const NodeId& id) {
  if (const auto own = hosts_.find(id); own != hosts_.end()) return &own->second;
  const Host* below = base_ == nullptr ? nullptr : base_->find(id);
  return below == nullptr ? nullptr : &hosts_.emplace(id, *below).first->second;
}

const Host* Cluster::find(const NodeId& id) const {
  if (const auto own = hosts_.find(id); own != hosts_.end()) return &own->second;
  return base_ == nullptr ? nullptr : base_->find(id);
}

std::vector<const Host*> Cluster::hosts() const {
  std::vector<const Host*> all;
  all.reserve(base_ == nullptr ? hosts_.size() : base_->hosts_.size());
  if (base_ == nullptr) {
    for (const auto& [id, host] : hosts_) all.push_back(&host);
    return all;
  }
  auto own = hosts_.begin();
  for (const auto& [id, host] : base_->hosts_) {
    const bool differs = own != hosts_.end() && own->first == id;
    all.push_back(differs ? &own++->second : &host);
  }
  return all;
}

}  // namespace runnel::sched
