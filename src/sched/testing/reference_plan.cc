#include "sched/testing/reference_plan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/place.h"

namespace runnel::sched::testing {
namespace {

// The hosts that are up, and what is free on each.
//
// Contract: take() CHECKs that the amount is free, so no caller can oversubscribe a host; a host
//           that left is forgotten with everything taken from it.
// Threads:  a value type.
// Why:      a derived index kept beside the state, so that placing costs no walk over all lanes.
class Cluster {
 public:
  void join(Host host);
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

  // A host that shares a runner and is not idle.
  struct Busy {
    std::string runner;
    std::int64_t apart = 0;
    std::int64_t places = 0;  // Places held on a host that takes nothing; else 0.
  };
  std::map<NodeId, Host> hosts_;
  std::map<NodeId, Busy> busy_;
  std::map<std::string, std::map<std::int64_t, std::int64_t>> runners_;  // How many, by number.
};

void Cluster::join(Host host) {
  CHECK(host.free.fits_in(host.capacity), "a host has more free than it has");
  see(host);
  hosts_[host.id] = std::move(host);
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

std::int64_t places_now(const Request& request, const Cluster& cluster, const Host& host) {
  if (cluster.apart_of(host).value_or(request.apart) != request.apart) return 0;
  return places_in(request, host, host.free);
}

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

std::optional<Placement> place(const Request& request, const Cluster& cluster,
                               const std::set<NodeId>& closed = {}) {
  CHECK(request.places > 0, "a request without places");
  std::vector<Candidate> found = candidates(request, cluster, closed);
  std::sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    // Cheap hosts go first where they may be used; a gang prefers few hosts; among equals the
    // fullest host.
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

// As a snapshot, with the reference's own cluster.
struct Question {
  const Cluster* cluster = nullptr;
  const std::vector<Request>& queue;
  const std::vector<Running>& running;
  Time now;
};

// The resources that the first blocked request will use, and from when.
struct Reservation {
  std::map<NodeId, model::Resources> needs;
  std::optional<Time> starts;  // Absent: when it will start is not known.
  bool free = false;           // Nobody's end is waited for.
  friend bool operator==(const Reservation&, const Reservation&) = default;
};

void occupy(Cluster& cluster, const Request& request, const Placement& placement) {
  for (const Placement::At& at : placement.at) {
    cluster.take(at.node, at.per_place.times(at.places));
    cluster.set_apart(at.node, request.apart);
  }
}

// With those that must be idle for it, too.
std::map<NodeId, model::Resources> needs_of(const Request& request, const Placement& placement,
                                            const Cluster& cluster) {
  std::map<NodeId, model::Resources> needs;
  std::set<std::string> runners;
  for (const Placement::At& at : placement.at) {
    needs.emplace(at.node, at.per_place.times(at.places));
    runners.insert(cluster.find(at.node)->runner);
  }
  runners.erase("");
  if (request.apart == 0 || runners.empty()) return needs;
  for (const auto& [id, host] : cluster.hosts()) {
    if (runners.contains(host.runner)) needs.emplace(id, model::Resources());
  }
  return needs;
}

// Gives back lanes in the order of their latest ends until the request fits.
std::optional<Reservation> reserve_by_known_ends(const Request& request, Cluster future,
                                                 const std::vector<Running>& running, Time now) {
  // Lanes that end together on one node keep their order.
  std::multimap<std::pair<Time, NodeId>, const Running*> ends;
  for (const Running& lane : running) {
    if (lane.by.has_value()) ends.emplace(std::pair(*lane.by, lane.node), &lane);
  }
  for (const auto& [at, lane] : ends) {
    future.give_back(lane->node, lane->amount);
    if (auto placement = place(request, future)) {
      return Reservation{needs_of(request, *placement, future), lane->by,
                         *lane->by <= std::max(now, request.not_before)};
    }
  }
  return std::nullopt;
}

Reservation reserve(const Request& request, const Cluster& cluster,
                    const std::vector<Running>& running, Time now) {
  if (auto placement = place(request, cluster)) {
    return Reservation{needs_of(request, *placement, cluster), request.not_before, true};
  }
  if (auto known = reserve_by_known_ends(request, cluster, running, now)) return *known;
  Cluster idle = cluster;
  for (const Running& lane : running) idle.give_back(lane.node, lane.amount);
  if (auto placement = place(request, idle)) {
    return Reservation{needs_of(request, *placement, idle), std::nullopt};
  }
  return Reservation{};  // Not feasible on what is up now: it holds nobody back.
}

bool patience_over(const Request& request, Time now) {
  return now - request.waiting_since >= request.patience;
}

// Whether the blocked one could be on the host as soon beside the request as without it: now, or
// when any one of the lanes there has ended.
bool as_soon_beside(const Request& request, const Host& host, const model::Resources& needed,
                    const std::vector<Running>& running) {
  model::Resources left = host.free;
  const model::Resources share = share_of(request, host);
  if (!share.fits_in(left)) return false;
  left.subtract(share);
  if (needed.fits_in(host.free)) return needed.fits_in(left);
  bool runs = false;
  for (const Running& lane : running) {
    if (lane.node != host.id) continue;
    runs = true;
    model::Resources then = left;
    then.add(lane.amount.beyond(host.overdrawn));
    if (!needed.fits_in(then)) return false;
  }
  return runs;
}

// Hosts that `request` must leave alone while `reservation` stands.
std::set<NodeId> closed_to(const Request& request, const Request& blocked,
                           const Reservation& reservation, const Cluster& cluster,
                           const std::vector<Running>& running, Time now) {
  if (request.apart != 0 && request.apart == blocked.apart) return {};  // They may be side by side.
  const bool ends_in_time = !request.limit.is_zero() && reservation.starts.has_value() &&
                            now + request.limit <= *reservation.starts;
  if (ends_in_time || !(reservation.free || patience_over(blocked, now))) return {};
  const bool shares = request.places == 1 && request.apart == 0 && blocked.apart == 0 &&
                      blocked.cpu_share == CpuShare::kAsAsked;
  std::set<NodeId> closed;
  for (const auto& [id, needed] : reservation.needs) {
    if (shares && as_soon_beside(request, *cluster.find(id), needed, running)) continue;
    closed.insert(id);
  }
  return closed;
}

class Planner {
 public:
  explicit Planner(const Question& snapshot)
      : snapshot_(snapshot),
        depth_(std::min(snapshot.queue.size(), static_cast<std::size_t>(kBackfillDepthMax))),
        cluster_(*snapshot.cluster),
        granted_(depth_) {}

  Plan run() {
    look_at_all_after(0);
    while (reservation_moved()) {
      const auto behind = std::upper_bound(plan_.blocked.begin(), plan_.blocked.end(), *head_);
      plan_.blocked.erase(behind, plan_.blocked.end());
      look_at_all_after(*head_ + 1);
    }
    return std::move(plan_);
  }

 private:
  bool full() const { return plan_.grants.size() >= static_cast<std::size_t>(kGrantsPerPlanMax); }

  void look_at_all_after(std::size_t index) {
    for (; index < depth_ && !full(); ++index) consider(index);
  }

  void consider(std::size_t index) {
    const Request& request = snapshot_.queue[index];
    while (request.not_before <= snapshot_.now && granted_[index] < request.lanes_wanted &&
           !full()) {
      std::set<NodeId> closed;
      if (head_.has_value()) {
        closed = closed_to(request, snapshot_.queue[*head_], reservation_, cluster_, running(),
                           snapshot_.now);
      }
      std::optional<Placement> placement = place(request, cluster_, closed);
      if (!placement.has_value()) break;
      occupy(cluster_, request, *placement);
      plan_.grants.push_back({index, std::move(*placement)});
      ++granted_[index];
    }
    if (granted_[index] < request.lanes_wanted && !full()) block(index);
  }

  void block(std::size_t index) {
    plan_.blocked.push_back(index);
    if (head_.has_value()) return;
    Reservation reservation = reserve_for(index);
    if (reservation.needs.empty()) return;
    head_ = index;
    reservation_ = std::move(reservation);
  }

  Reservation reserve_for(std::size_t index) {
    grants_reserved_beside_ = plan_.grants.size();
    return reserve(snapshot_.queue[index], cluster_, running(), snapshot_.now);
  }

  // Grants behind the head may have changed where, or when, it will start; then others may start
  // where it no longer will.
  bool reservation_moved() {
    if (!head_.has_value() || full() || plan_.grants.size() == grants_reserved_beside_) {
      return false;
    }
    Reservation reservation = reserve_for(*head_);
    if (reservation == reservation_) return false;
    reservation_ = std::move(reservation);
    return true;
  }

  // The holdings of lanes, those of this plan included.
  std::vector<Running> running() const {
    std::vector<Running> running = snapshot_.running;
    for (const Grant& grant : plan_.grants) {
      const Duration limit = snapshot_.queue[grant.request].limit;
      for (const Placement::At& at : grant.placement.at) {
        running.push_back({at.node, at.per_place.times(at.places),
                           limit.is_zero() ? std::nullopt : std::optional(snapshot_.now + limit)});
      }
    }
    return running;
  }

  const Question& snapshot_;
  const std::size_t depth_;
  Cluster cluster_;                    // As it will be with the grants made so far.
  std::vector<std::int64_t> granted_;  // Lanes, by request.
  Plan plan_;
  std::optional<std::size_t> head_;  // The first blocked request that can start some day.
  Reservation reservation_;
  std::size_t grants_reserved_beside_ = 0;  // How many there were when the head's was made.
};

}  // namespace

Plan reference_plan(const ReferenceCluster& known, const std::vector<Request>& queue,
                    const std::vector<Running>& running, Time now) {
  Cluster cluster;
  for (const Host& host : known.hosts) cluster.join(host);
  for (const ReferenceCluster::Held& held : known.held) {
    cluster.hold(held.id, held.runner, held.apart, held.places);
  }
  return Planner(Question{&cluster, queue, running, now}).run();
}

}  // namespace runnel::sched::testing
