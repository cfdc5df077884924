#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "sched/cluster.h"
#include "sched/request.h"

namespace runnel::sched {

// Where one gang would go, all places or none.
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

// What one place of the request takes from this host.
model::Resources share_of(const Request& request, const Host& host);

}  // namespace runnel::sched
