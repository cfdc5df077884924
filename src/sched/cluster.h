#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/ids.h"
#include "model/resources.h"

namespace runnel::sched {

// Whether several places of one gang may share a host.
enum class Sharing : std::uint8_t { kOnePlacePerGang, kColocate };

// Whether a host may be taken away at short notice.
enum class Tenure : std::uint8_t { kLasting, kSpot };

// The number of a host where some are kept apart from others that are there already.
inline constexpr std::int64_t kNobody = -1;
// What one must have to join those with these numbers.
std::int64_t shared_number(const std::set<std::int64_t>& numbers);

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
};

// The hosts that are up, and what is free on each.
//
// Contract: take() CHECKs that the amount is free, so no caller can oversubscribe a host; a host
//           that left is forgotten with everything taken from it.
// Threads:  a value type.
// Why:      a derived index kept beside the state, so that placing costs no walk over all lanes.
class Cluster {
 public:
  void join(Host host);
  void leave(const NodeId& id);
  void take(const NodeId& id, const model::Resources& amount);
  // It takes nothing, but what runs there is beside what the other hosts of its runner have.
  // `places` are there, each of which gives back once.
  void hold(const NodeId& id, const std::string& runner, std::int64_t apart, std::int64_t places);
  // From now on it is kept for requests with this number.
  void set_apart(const NodeId& id, std::int64_t apart);
  // When the host left meanwhile it is only the others of its runner that gain by it.
  void give_back(const NodeId& id, const model::Resources& amount);

  const Host* find(const NodeId& id) const;
  const std::map<NodeId, Host>& hosts() const { return hosts_; }
  // The number that a request must have to join what runs on the host and beside it, on the others
  // of its runner; nothing when all of them are idle: then nobody minds.
  std::optional<std::int64_t> apart_of(const Host& host) const;

 private:
  void see(const Host& host);
  void forget(const NodeId& id);
  void give_back_held(const NodeId& id);

  // Of hosts that share a runner and are not idle.
  struct Busy {
    std::string runner;
    std::int64_t apart = 0;
    std::int64_t places = 0;  // Of a host that takes nothing.
  };
  std::map<NodeId, Host> hosts_;
  std::map<NodeId, Busy> busy_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> runners_;  // How many, by number.
};

}  // namespace runnel::sched
