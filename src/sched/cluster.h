#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "model/resources.h"
#include "sched/company.h"

namespace runnel::sched {

// Whether several places of one gang may share a host.
enum class Sharing : std::uint8_t { kOnePlacePerGang, kColocate };

// Whether a host may be taken away at short notice.
enum class Tenure : std::uint8_t { kLasting, kSpot };

// A node as placement sees it.
struct Host {
  NodeId id;
  std::string pool;
  model::Resources capacity;
  model::Resources free;
  Sharing sharing = Sharing::kOnePlacePerGang;
  Tenure tenure = Tenure::kLasting;
  // Held beyond the capacity, by what began before the host shrank: given back before anything is
  // free again.
  model::Resources overdrawn = {};
  // Only requests with the same number may join what is on it; zero: those without one; kNobody.
  std::int64_t apart = 0;
  // Hosts that name the same are kept apart as one; empty: it is one of its own.
  std::string runner = {};
  // Its devices are not granted, though nothing that is known runs there.
  bool withheld = false;

  // Nothing that is known runs there.
  bool idle() const;
  friend bool operator==(const Host&, const Host&) = default;
};

// The hosts that are up, and what is free on each.
//
// Contract: take() CHECKs that the amount is free, so no caller can oversubscribe a host; a host
//           that left is forgotten with everything taken from it. A draft shows what the cluster
//           that it stands on would be after some changes, and leaves it as it is.
// Threads:  a value type; a draft borrows.
// Why:      a derived index kept beside the state, so that placing costs no walk over all lanes,
//           and a plan no copy of all hosts.
class Cluster {
 public:
  // The cluster is no draft itself.
  Cluster draft() const;

  void join(Host host);
  void leave(const NodeId& id);
  void take(const NodeId& id, const model::Resources& amount);
  // It takes nothing, but what runs there is beside what the other hosts of its runner have.
  // `places` are there, each of which gives back once.
  void hold(const NodeId& id, const std::string& runner, std::int64_t apart, std::int64_t places);
  // From now on it is kept for requests with this number.
  void set_apart(const NodeId& id, std::int64_t apart);
  // The host, or null when it left meanwhile: then only the others of its runner gain by it.
  const Host* give_back(const NodeId& id, const model::Resources& amount);

  const Host* find(const NodeId& id) const;
  // In the order of their ids.
  std::vector<const Host*> hosts() const;
  // The number that a request must have to join what runs on the host and beside it, on the others
  // of its runner; nothing when all of them are idle: then nobody minds.
  std::optional<std::int64_t> apart_of(const Host& host) const;
  // Grows whenever what apart_of() says of the hosts of some runner may have changed.
  std::int64_t company_changes() const { return company_.changes(); }

 private:
  Host* change(const NodeId& id);
  void see(const Host& host);

  const Cluster* base_ = nullptr;
  std::map<NodeId, Host> hosts_;  // In a draft, those that differ.
  Company company_;
};

}  // namespace runnel::sched
