#include "sched/place.h"

#include <algorithm>
#include <iterator>
#include <numeric>
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
  for (const Host* host : cluster.hosts()) {
    const std::int64_t places = places_now(request, cluster, *host);
    if (places > 0 && !closed.contains(host->id)) found.push_back({host, places, {}});
  }
  return found;
}

// Cheap hosts go first where they may be used; a gang prefers few hosts; among equals the fullest
// host.
bool goes_first(const Candidate& a, const Candidate& b) {
  if (a.host->tenure != b.host->tenure) return a.host->tenure == Tenure::kSpot;
  if (a.places != b.places) return a.places > b.places;
  if (a.leftover != b.leftover) return a.leftover < b.leftover;
  return a.host->id < b.host->id;
}

std::int64_t places_of(const std::vector<Candidate>& found) {
  return std::accumulate(found.begin(), found.end(), std::int64_t{0},
                         [](std::int64_t sum, const Candidate& each) { return sum + each.places; });
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
  if (places_of(found) < request.places) return std::nullopt;
  for (Candidate& candidate : found) candidate.leftover = leftover_of(*candidate.host);
  // Each of them holds a place at least.
  const auto used = std::min(std::ssize(found), static_cast<std::ptrdiff_t>(request.places));
  std::partial_sort(found.begin(), found.begin() + used, found.end(), goes_first);
  Placement placement;
  std::int64_t missing = request.places;
  for (const Candidate& candidate : found) {
    if (missing == 0) break;
    const std::int64_t here = std::min(missing, candidate.places);
    placement.at.push_back(
        {candidate.host->id, static_cast<std::int32_t>(here), share_of(request, *candidate.host)});
    missing -= here;
  }
  CHECK(missing == 0, "places were counted that are not there");
  return placement;
}

bool feasible(const Request& request, const Cluster& cluster) {
  std::int64_t places = 0;
  for (const Host* host : cluster.hosts()) {
    places += places_in(request, *host, host->capacity);
    if (places >= request.places) return true;
  }
  return false;
}

bool asks_no_less(const Request& request, const Request& than) {
  return request.apart == than.apart && request.cpu_share == than.cpu_share &&
         request.places >= than.places && than.per_place.fits_in(request.per_place) &&
         (request.spot_use == than.spot_use || than.spot_use == SpotUse::kPreferred);
}

Future::Future(const Request& request, const Cluster& cluster)
    : request_(request), cluster_(cluster) {
  for (const Host* host : cluster_.hosts()) count(*host);
}

void Future::count(const Host& host) {
  std::int64_t& places = places_[host.id];
  places_sum_ -= places;
  places = places_now(request_, cluster_, host);
  places_sum_ += places;
}

void Future::give_back(const NodeId& node, const model::Resources& amount) {
  const std::int64_t changes = cluster_.company_changes();
  const Host* host = cluster_.give_back(node, amount);
  if (host != nullptr) count(*host);
  if (cluster_.company_changes() == changes) return;
  // A request that was kept off the runner's other hosts may be there now.
  for (const Host* other : cluster_.hosts()) {
    if (host == nullptr || other->runner == host->runner) count(*other);
  }
}

}  // namespace runnel::sched
