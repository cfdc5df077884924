#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/ids.h"
#include "model/resources.h"

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
  // Only requests with the same number may join what is on it; zero: those without one.
  std::int64_t apart = 0;
};

// The hosts that are up, and what is free on each.
//
// Contract: take() CHECKs that the amount is free, so no caller can oversubscribe a host; a host
// that
//           left is forgotten with everything taken from it.
// Threads:  a value type.
// Why:      a derived index kept beside the state, so that placing costs no walk over all lanes.
class Cluster {
 public:
  void join(Host host);
  void leave(const NodeId& id);
  void take(const NodeId& id, const model::Resources& amount);
  // From now on it is kept for requests with this number.
  void set_apart(const NodeId& id, std::int64_t apart);
  // No effect when the host left meanwhile.
  void give_back(const NodeId& id, const model::Resources& amount);

  const Host* find(const NodeId& id) const;
  const std::map<NodeId, Host>& hosts() const { return hosts_; }

 private:
  std::map<NodeId, Host> hosts_;
};

}  // namespace runnel::sched
