#include "sched/place.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace runnel::sched {
namespace {

// Free amounts after the place, in the order that best fit compares: devices are the scarcest.
using Leftover = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

struct Candidate {
  const Host* host = nullptr;
  std::int64_t places = 0;
  Leftover leftover;
};

Leftover leftover_of(const Host& host) {
  std::int64_t devices = 0;
  for (const auto& [name, count] : host.free.accelerators) devices += count;
  return {devices, host.free.milli_cpus, host.free.memory.count()};
}

std::vector<Candidate> candidates(const Request& request, const Cluster& cluster,
                                  const std::set<NodeId>& closed) {
  std::vector<Candidate> found;
  for (const auto& [id, host] : cluster.hosts()) {
    if (closed.contains(id)) continue;
    const std::int64_t places = places_now(request, cluster, host);
    if (places > 0) found.push_back({&host, places, leftover_of(host)});
  }
  return found;
}

}  // namespace

model::Resources share_of(const Request& request, const Host& host) {
  model::Resources share = request.per_place;
  if (request.cpu_share == CpuShare::kWholeHost) share.milli_cpus = host.capacity.milli_cpus;
  return share;
}

std::int64_t places_in(const Request& request, const Host& host, const model::Resources& amount) {
  if (host.tenure == Tenure::kSpot && request.spot_use == SpotUse::kNever) return 0;
  const std::int64_t most = host.sharing == Sharing::kColocate ? request.places : 1;
  return share_of(request, host).times_in(amount, most);
}

std::int64_t places_now(const Request& request, const Cluster& cluster, const Host& host) {
  if (cluster.apart_of(host).value_or(request.apart) != request.apart) return 0;
  return places_in(request, host, host.free);
}

bool could_hold(const Request& request, const Host& host) {
  return places_in(request, host, host.capacity) > 0;
}

std::optional<Placement> place(const Request& request, const Cluster& cluster,
                               const std::set<NodeId>& closed) {
  CHECK(request.places > 0, "a request without places");
  std::vector<Candidate> found = candidates(request, cluster, closed);
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    // Who may use cheap hosts does; a gang prefers few hosts; among equals the fullest host.
    if (a.host->tenure != b.host->tenure) return a.host->tenure == Tenure::kSpot;
    if (a.places != b.places) return a.places > b.places;
    if (a.leftover != b.leftover) return a.leftover < b.leftover;
    return a.host->id < b.host->id;
  });
  Placement placement;
  std::int64_t missing = request.places;
  for (const Candidate& candidate : found) {
    if (missing == 0) break;
    const std::int64_t here = std::min(missing, candidate.places);
    placement.at.push_back(
        {candidate.host->id, static_cast<std::int32_t>(here), share_of(request, *candidate.host)});
    missing -= here;
  }
  if (missing > 0) return std::nullopt;
  return placement;
}

bool feasible(const Request& request, const Cluster& cluster) {
  Cluster idle;
  for (const auto& [id, host] : cluster.hosts()) {
    Host empty = host;
    empty.free = empty.capacity;
    idle.join(std::move(empty));
  }
  return place(request, idle).has_value();
}

}  // namespace runnel::sched
