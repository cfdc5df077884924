#include "sched/plan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "sched/place.h"

namespace runnel::sched {
namespace {

// The resources that the first blocked request will use, and from when.
struct Reservation {
  // On each host; nothing of one that must only be idle for it.
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
  for (const Host* host : cluster.hosts()) {
    if (runners.contains(host->runner)) needs.emplace(host->id, model::Resources());
  }
  return needs;
}

model::Resources least_of(const model::Resources& one, const model::Resources& other) {
  model::Resources least;
  least.milli_cpus = std::min(one.milli_cpus, other.milli_cpus);
  least.memory = std::min(one.memory, other.memory);
  for (const auto& [name, count] : one.accelerators) {
    const auto found = other.accelerators.find(name);
    if (found != other.accelerators.end()) {
      least.accelerators[name] = std::min(count, found->second);
    }
  }
  return least;
}

// The least that any lane gives back, by host; none where nothing runs.
using LeastEnds = std::map<NodeId, model::Resources>;

void note_end(LeastEnds& least, const NodeId& node, const model::Resources& amount) {
  const auto [found, first] = least.emplace(node, amount);
  if (!first) found->second = least_of(found->second, amount);
}

LeastEnds least_ends(const std::map<NodeId, model::Resources>& hosts, const LaneEnds& running,
                     const LaneEnds& granted) {
  LeastEnds least;
  for (const LaneEnds* ends : {&running, &granted}) {
    for (const auto& [lane, amount] : *ends) {
      if (hosts.contains(lane.node)) note_end(least, lane.node, amount);
    }
  }
  return least;
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
    reservation.needs = needs_of(request, *placement, future.cluster());
  }
  return reservation;  // One without needs holds nobody back: not feasible on what is up now.
}

bool patience_over(const Request& request, Time now) {
  return now - request.waiting_since >= request.patience;
}

// Whether `request` may not be where `blocked` will be.
bool must_yield(const Request& request, const Request& blocked, const Reservation& reservation,
                Time now) {
  if (request.apart != 0 && request.apart == blocked.apart) return false;  // Side by side.
  const bool ends_in_time = !request.limit.is_zero() && reservation.starts.has_value() &&
                            now + request.limit <= *reservation.starts;
  return !ends_in_time && (reservation.free || patience_over(blocked, now));
}

// Those whose places on a host can be told beforehand, and who need no host for themselves.
bool can_share(const Request& request, const Request& blocked) {
  return request.places == 1 && request.apart == 0 && blocked.apart == 0 &&
         blocked.cpu_share == CpuShare::kAsAsked;
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

  // A request that does not fit beside nobody's reservation needs to know of none.
  std::optional<Placement> place_behind_head(const Request& request) {
    std::optional<Placement> placement = place_unless_known(request, {}, full_for_);
    if (!placement.has_value()) return std::nullopt;
    find_head();
    if (!head_.has_value()) return placement;
    if (!must_yield(request, snapshot_.queue[*head_], reservation_, snapshot_.now)) {
      return placement;
    }
    return place_unless_known(request, closed_to(request), closed_for_);
  }

  // Hosts that the request must leave to the head.
  std::set<NodeId> closed_to(const Request& request) {
    const bool shares = can_share(request, snapshot_.queue[*head_]);
    std::set<NodeId> closed;
    for (const auto& [id, needed] : reservation_.needs) {
      if (!shares || !leaves_enough(request, *cluster_.find(id), needed)) closed.insert(id);
    }
    return closed;
  }

  // Whether what is needed on the host is there as soon with one place of `request` as without:
  // now, or else once any lane of those that run there has ended.
  bool leaves_enough(const Request& request, const Host& host, const model::Resources& needed) {
    const model::Resources share = share_of(request, host);
    if (!share.fits_in(host.free)) return false;
    model::Resources left = host.free;
    left.subtract(share);
    if (needed.fits_in(host.free)) return needed.fits_in(left);
    const model::Resources* least = least_end_on(host.id);
    if (least == nullptr) return false;
    left.add(least->beyond(host.overdrawn));
    return needed.fits_in(left);
  }

  const model::Resources* least_end_on(const NodeId& id) {
    if (!least_ends_) {
      least_ends_ = least_ends(reservation_.needs, snapshot_.running(), granted_ends_);
    }
    const auto found = least_ends_->find(id);
    return found == least_ends_->end() ? nullptr : &found->second;
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
      const model::Resources amount = at.per_place.times(at.places);
      granted_ends_[{by, at.node, kGranted + std::ssize(plan_.grants)}] = amount;
      if (least_ends_) note_end(*least_ends_, at.node, amount);
    }
    plan_.grants.push_back({index, std::move(placement)});
    ++granted_[index];
  }

  // The first blocked one that can start some day, once somebody might pass it.
  void find_head() {
    for (; !head_.has_value() && asked_ < plan_.blocked.size(); ++asked_) {
      const std::size_t index = plan_.blocked[asked_];
      Reservation reservation = reserve_for(index);
      if (reservation.needs.empty()) continue;
      head_ = index;
      reservation_ = std::move(reservation);
    }
  }

  Reservation reserve_for(std::size_t index) {
    grants_reserved_beside_ = plan_.grants.size();
    const Request& request = snapshot_.queue[index];
    if (auto placement = place(request, cluster_)) {
      return {needs_of(request, *placement, cluster_), request.not_before, true};
    }
    return reserve_by_ends(request, cluster_, snapshot_.running(), granted_ends_, snapshot_.now);
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
    least_ends_.reset();
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
  std::optional<LeastEnds> least_ends_;     // On its hosts; made when it is asked for.
  std::size_t grants_reserved_beside_ = 0;  // How many there were when the head's was made.
};

}  // namespace

Plan plan(const Snapshot& snapshot) {
  CHECK(snapshot.cluster != nullptr, "a snapshot without a cluster");
  CHECK(snapshot.running, "a snapshot that does not tell what runs");
  return Planner(snapshot).run();
}

}  // namespace runnel::sched
