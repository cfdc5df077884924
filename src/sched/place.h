#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "sched/cluster.h"
#include "sched/request.h"

namespace runnel::sched {

// The hosts that one gang would go to, all places or none.
struct Placement {
  struct At {
    NodeId node;
    std::int32_t places = 1;     // More than one only on a colocating host.
    model::Resources per_place;  // With cpus resolved for a whole-host request.
  };
  std::vector<At> at;  // In rank order; each host once.
};

// Places one lane of `request` by best fit: the hosts left fullest first, so that large holes stay
// for large requests (PACK), spot hosts before others when it may use them; nothing when the whole
// gang does not fit. Hosts in `closed` are not used. Deterministic: ties go to the smaller node id.
std::optional<Placement> place(const Request& request, const Cluster& cluster,
                               const std::set<NodeId>& closed = {});

// The same on an idle cluster: can it ever start?
bool feasible(const Request& request, const Cluster& cluster);

// Whether the host, all of it free, could hold a place of the request.
bool could_hold(const Request& request, const Host& host);
// How many places of the request go into `amount` of the host: its capacity, or what is free.
std::int64_t places_in(const Request& request, const Host& host, const model::Resources& amount);

// The same of what is free now, if the request may be beside what runs there.
std::int64_t places_now(const Request& request, const Cluster& cluster, const Host& host);

// Whether the request fits nowhere where `than` does not fit either.
bool asks_no_less(const Request& request, const Request& than);

// The resources that one place of the request takes from this host.
model::Resources share_of(const Request& request, const Host& host);

// A cluster as lanes end on it, and how many places it has for one request by then: counted by
// host, so that an end costs a look at its host and not one at all of them.
class Future {
 public:
  // `cluster` may be a draft; borrows the request.
  Future(const Request& request, const Cluster& cluster);

  void give_back(const NodeId& node, const model::Resources& amount);
  bool fits() const { return places_sum_ >= request_.places; }
  const Cluster& cluster() const { return cluster_; }

 private:
  void count(const Host& host);

  const Request& request_;
  Cluster cluster_;
  std::map<NodeId, std::int64_t> places_;
  std::int64_t places_sum_ = 0;
};

}  // namespace runnel::sched
