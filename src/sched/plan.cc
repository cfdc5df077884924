#include "sched/plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"

namespace runnel::sched {
namespace {

// What the first blocked request will use, and from when.
struct Reservation {
  std::set<NodeId> hosts;
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
std::set<NodeId> hosts_of(const Request& request, const Placement& placement,
                          const Cluster& cluster) {
  std::set<NodeId> hosts;
  std::set<std::string> runners;
  for (const Placement::At& at : placement.at) {
    hosts.insert(at.node);
    runners.insert(cluster.find(at.node)->runner);
  }
  runners.erase("");
  if (request.apart == 0 || runners.empty()) return hosts;
  for (const auto& [id, host] : cluster.hosts()) {
    if (runners.contains(host.runner)) hosts.insert(id);
  }
  return hosts;
}

// Gives back lanes in the order of their latest ends until the request fits.
std::optional<Reservation> reserve_by_known_ends(const Request& request, Cluster future,
                                                 const std::vector<LaneEnd>& running, Time now) {
  // Lanes that end together on one node keep their order.
  std::multimap<std::pair<Time, NodeId>, const LaneEnd*> ends;
  for (const LaneEnd& lane : running) {
    if (lane.by.has_value()) ends.emplace(std::pair(*lane.by, lane.node), &lane);
  }
  for (const auto& [at, lane] : ends) {
    future.give_back(lane->node, lane->amount);
    if (auto placement = place(request, future)) {
      return Reservation{hosts_of(request, *placement, future), lane->by,
                         *lane->by <= std::max(now, request.not_before)};
    }
  }
  return std::nullopt;
}

Reservation reserve(const Request& request, const Cluster& cluster,
                    const std::vector<LaneEnd>& running, Time now) {
  if (auto placement = place(request, cluster)) {
    return Reservation{hosts_of(request, *placement, cluster), request.not_before, true};
  }
  if (auto known = reserve_by_known_ends(request, cluster, running, now)) return *known;
  Cluster idle = cluster;
  for (const LaneEnd& lane : running) idle.give_back(lane.node, lane.amount);
  if (auto placement = place(request, idle)) {
    return Reservation{hosts_of(request, *placement, idle), std::nullopt};
  }
  return Reservation{};  // Not feasible on what is up now: it holds nobody back.
}

bool patience_over(const Request& request, Time now) {
  return now - request.waiting_since >= request.patience;
}

// Hosts that `request` must leave alone while `reservation` stands.
std::set<NodeId> closed_to(const Request& request, const Request& blocked,
                           const Reservation& reservation, Time now) {
  if (request.apart != 0 && request.apart == blocked.apart) return {};  // They may be side by side.
  const bool ends_in_time = !request.limit.is_zero() && reservation.starts.has_value() &&
                            now + request.limit <= *reservation.starts;
  if (ends_in_time || !(reservation.free || patience_over(blocked, now))) return {};
  return reservation.hosts;
}

class Planner {
 public:
  explicit Planner(const Snapshot& snapshot)
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
    const std::set<NodeId> closed =
        head_.has_value() ? closed_to(request, snapshot_.queue[*head_], reservation_, snapshot_.now)
                          : std::set<NodeId>{};
    while (request.not_before <= snapshot_.now && granted_[index] < request.lanes_wanted &&
           !full()) {
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
    if (reservation.hosts.empty()) return;
    head_ = index;
    reservation_ = std::move(reservation);
  }

  Reservation reserve_for(std::size_t index) {
    grants_reserved_beside_ = plan_.grants.size();
    return reserve(snapshot_.queue[index], cluster_, running(), snapshot_.now);
  }

  // What was granted behind the head may have changed where, or when, it will start; then others
  // may start where it no longer will.
  bool reservation_moved() {
    if (!head_.has_value() || full() || plan_.grants.size() == grants_reserved_beside_) {
      return false;
    }
    Reservation reservation = reserve_for(*head_);
    if (reservation == reservation_) return false;
    reservation_ = std::move(reservation);
    return true;
  }

  // What lanes hold, those of this plan included.
  std::vector<LaneEnd> running() const {
    std::vector<LaneEnd> running = snapshot_.running();
    for (const Grant& grant : plan_.grants) {
      const Duration limit = snapshot_.queue[grant.request].limit;
      for (const Placement::At& at : grant.placement.at) {
        running.push_back({at.node, at.per_place.times(at.places),
                           limit.is_zero() ? std::nullopt : std::optional(snapshot_.now + limit)});
      }
    }
    return running;
  }

  const Snapshot& snapshot_;
  const std::size_t depth_;
  Cluster cluster_;                    // As it will be with the grants made so far.
  std::vector<std::int64_t> granted_;  // Lanes, by request.
  Plan plan_;
  std::optional<std::size_t> head_;  // The first blocked request that can start some day.
  Reservation reservation_;
  std::size_t grants_reserved_beside_ = 0;  // How many there were when the head's was made.
};

}  // namespace

Plan plan(const Snapshot& snapshot) {
  CHECK(snapshot.cluster != nullptr, "a snapshot without a cluster");
  CHECK(snapshot.running, "a snapshot that does not tell what runs");
  return Planner(snapshot).run();
}

}  // namespace runnel::sched
