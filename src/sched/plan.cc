#include "sched/plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/place.h"

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
  for (const Host* host : cluster.hosts()) {
    if (runners.contains(host->runner)) hosts.insert(host->id);
  }
  return hosts;
}

// Tells the ends of both in their common order until `visit` has seen enough.
template <typename Visit>
void in_order(const LaneEnds& one, const LaneEnds& other, Visit visit) {
  auto a = one.begin();
  auto b = other.begin();
  while (a != one.end() || b != other.end()) {
    const bool first = b == other.end() || (a != one.end() && a->first < b->first);
    const auto& [key, amount] = first ? *a++ : *b++;
    if (!visit(key, amount)) return;
  }
}

// Gives back what lanes hold in the order of their latest ends until the request fits.
Reservation reserve_by_ends(const Request& request, const Cluster& cluster, const LaneEnds& running,
                            const LaneEnds& granted, Time now) {
  Future future(request, cluster);
  Reservation reservation;
  in_order(running, granted, [&](const LaneEndKey& lane, const model::Resources& amount) {
    future.give_back(lane.node, amount);
    if (!lane.by.has_value() || !future.fits()) return true;
    reservation.starts = lane.by;
    reservation.free = *lane.by <= std::max(now, request.not_before);
    return false;
  });
  if (auto placement = place(request, future.cluster())) {
    reservation.hosts = hosts_of(request, *placement, future.cluster());
  }
  return reservation;  // One without hosts holds nobody back: not feasible on what is up now.
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
        cluster_(snapshot.cluster->draft()),
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
      std::optional<Placement> placement = place_behind_head(request);
      if (!placement.has_value()) break;
      grant(index, std::move(*placement));
    }
    if (granted_[index] < request.lanes_wanted && !full()) plan_.blocked.push_back(index);
  }

  // What does not fit beside nobody's reservation needs to know of none.
  std::optional<Placement> place_behind_head(const Request& request) {
    std::optional<Placement> placement = place_unless_known(request, {}, full_for_);
    if (!placement.has_value()) return std::nullopt;
    find_head();
    if (!head_.has_value()) return placement;
    const std::set<NodeId> closed =
        closed_to(request, snapshot_.queue[*head_], reservation_, snapshot_.now);
    if (closed.empty()) return placement;
    return place_unless_known(request, closed, closed_for_);
  }

  // Grants only take: whoever does not fit in a plan fits no more in it, nor does who asks for no
  // less.
  std::optional<Placement> place_unless_known(const Request& request,
                                              const std::set<NodeId>& closed,
                                              std::vector<const Request*>& refused) {
    const bool known = std::any_of(refused.begin(), refused.end(), [&](const Request* each) {
      return asks_no_less(request, *each);
    });
    if (known) return std::nullopt;
    std::optional<Placement> placement = place(request, cluster_, closed);
    if (!placement.has_value()) refused.push_back(&request);
    return placement;
  }

  void grant(std::size_t index, Placement placement) {
    const Request& request = snapshot_.queue[index];
    occupy(cluster_, request, placement);
    for (const Placement::At& at : placement.at) {
      const std::optional<Time> by =
          request.limit.is_zero() ? std::nullopt : std::optional(snapshot_.now + request.limit);
      granted_ends_[{by, at.node, kGranted + std::ssize(plan_.grants)}] =
          at.per_place.times(at.places);
    }
    plan_.grants.push_back({index, std::move(placement)});
    ++granted_[index];
  }

  // The first blocked one that can start some day, once somebody might pass it.
  void find_head() {
    for (; !head_.has_value() && asked_ < plan_.blocked.size(); ++asked_) {
      const std::size_t index = plan_.blocked[asked_];
      Reservation reservation = reserve_for(index);
      if (reservation.hosts.empty()) continue;
      head_ = index;
      reservation_ = std::move(reservation);
    }
  }

  Reservation reserve_for(std::size_t index) {
    grants_reserved_beside_ = plan_.grants.size();
    const Request& request = snapshot_.queue[index];
    if (auto placement = place(request, cluster_)) {
      return {hosts_of(request, *placement, cluster_), request.not_before, true};
    }
    return reserve_by_ends(request, cluster_, snapshot_.running(), granted_ends_, snapshot_.now);
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
    closed_for_.clear();
    return true;
  }

  // Lanes of this plan end after those that run, where all else is equal.
  static constexpr std::int64_t kGranted =
      std::numeric_limits<std::int64_t>::max() - kGrantsPerPlanMax;

  const Snapshot& snapshot_;
  const std::size_t depth_;
  Cluster cluster_;                    // As it will be with the grants made so far.
  std::vector<std::int64_t> granted_;  // Lanes, by request.
  LaneEnds granted_ends_;              // Theirs.
  Plan plan_;
  std::vector<const Request*> full_for_;    // Requests for which there is no room,
  std::vector<const Request*> closed_for_;  // or none beside what is kept for the head.
  std::size_t asked_ = 0;                   // Blocked ones of which it is known that they are none.
  std::optional<std::size_t> head_;         // The first blocked request that can start some day.
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
