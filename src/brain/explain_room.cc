#include "brain/explain_room.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/hosts.h"
#include "brain/places.h"
#include "brain/quarantine.h"
#include "brain/suspects.h"
#include "brain/wish.h"
#include "sched/place.h"
#include "sched/plan.h"

namespace runnel::brain {
namespace {

using model::Resources;

constexpr std::size_t kHoldersShown = 3;  // Jobs in a sentence; the rest is a number.
constexpr std::size_t kBlockersMax = 16;  // Jobs in Wait::blockers.

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// ---- amounts

std::int64_t device_count(const Resources& amount, const std::string& name) {
  const auto found = amount.accelerators.find(name);
  return found == amount.accelerators.end() ? 0 : found->second;
}

// What `free` lacks of `wanted`.
Resources lack_of(const Resources& wanted, const Resources& free) {
  Resources lack;
  lack.milli_cpus = std::max<std::int64_t>(0, wanted.milli_cpus - free.milli_cpus);
  lack.memory = std::max(Bytes(), wanted.memory - free.memory);
  for (const auto& [name, count] : wanted.accelerators) {
    const std::int64_t missing = count - device_count(free, name);
    if (missing > 0) lack.accelerators[name] = missing;
  }
  return lack;
}

bool is_nothing(const Resources& amount) { return amount == Resources(); }

// The parts of `amount` that `of` has too: "1 cpu" of "1 cpu, 4 GiB" where only cpus are lacking.
Resources parts_of(const Resources& amount, const Resources& of) {
  Resources parts;
  if (of.milli_cpus > 0) parts.milli_cpus = amount.milli_cpus;
  if (!of.memory.is_zero()) parts.memory = amount.memory;
  for (const auto& [name, count] : of.accelerators) {
    if (const std::int64_t here = device_count(amount, name); here > 0) {
      parts.accelerators[name] = here;
    }
  }
  return parts;
}

// Whether each part of `wanted` has at least something in `amount`.
bool some_of_each(const Resources& wanted, const Resources& amount) {
  if (wanted.milli_cpus > 0 && amount.milli_cpus == 0) return false;
  if (!wanted.memory.is_zero() && amount.memory.is_zero()) return false;
  return std::all_of(wanted.accelerators.begin(), wanted.accelerators.end(),
                     [&](const auto& part) { return device_count(amount, part.first) > 0; });
}

// Devices are the scarcest, so a host that lacks one is further off than one that lacks cpus.
std::tuple<std::int64_t, std::int64_t, std::int64_t> distance(const Resources& lack) {
  std::int64_t devices = 0;
  for (const auto& [name, count] : lack.accelerators) devices += count;
  return {devices, lack.milli_cpus, lack.memory.count()};
}

// "4 cpus", or "a node to itself with 2.0 GiB".
std::string place_text(const sched::Request& request) {
  if (request.cpu_share == sched::CpuShare::kAsAsked) return request.per_place.describe();
  Resources rest = request.per_place;
  rest.milli_cpus = 0;
  return is_nothing(rest) ? "all its cpus" : "all its cpus, " + rest.describe();
}

// "needs 2 cpus on a node", "needs 4 nodes at once with 2 cpus each".
std::string need_text(const sched::Request& request) {
  if (request.places == 1) return "needs a node with " + place_text(request);
  return "needs " + std::to_string(request.places) + " nodes at once with " + place_text(request) +
         " each";
}

// ---- clusters

sched::Cluster all_colocating(const sched::Cluster& cluster) {
  sched::Cluster out;
  for (const sched::Host* host : cluster.hosts()) {
    sched::Host shared = *host;
    shared.sharing = sched::Sharing::kColocate;
    out.join(std::move(shared));
  }
  return out;
}

// How many places of the request the hosts hold, with what they have free or all they have.
enum class Room : std::uint8_t { kFree, kCapacity };
std::int64_t places_in(const sched::Request& request, const sched::Cluster& cluster, Room room) {
  std::int64_t places = 0;
  for (const sched::Host* host : cluster.hosts()) {
    places += room == Room::kFree ? sched::places_now(request, cluster, *host)
                                  : sched::places_in(request, *host, host->capacity);
  }
  return places;
}

// ---- it can never start on these nodes

struct Shortage {
  std::string largest;  // "has 2 H100"
  std::string remedy;
};

Resources one_kind(const std::string& device, std::int64_t count) {
  Resources amount;
  if (count > 0) amount.accelerators[device] = count;
  return amount;
}

std::string device_names(const sched::Cluster& cluster) {
  std::map<std::string, std::int64_t> all;
  for (const sched::Host* host : cluster.hosts()) {
    for (const auto& [name, count] : host->capacity.accelerators) all[name] += count;
  }
  std::string names;
  for (const auto& [name, count] : all) names += (names.empty() ? "" : " or ") + name;
  return names;
}

std::optional<Shortage> device_shortage(const Wish& wish, const sched::Cluster& cluster) {
  for (const auto& [name, wanted] : wish.request.per_place.accelerators) {
    std::int64_t largest = 0;
    std::int64_t sum = 0;
    for (const sched::Host* host : cluster.hosts()) {
      largest = std::max(largest, device_count(host->capacity, name));
      sum += device_count(host->capacity, name);
    }
    if (largest >= wanted) continue;
    if (largest == 0) {
      const std::string others = device_names(cluster);
      return Shortage{"no node has any " + name,
                      others.empty() ? "leave accelerators out, or add a node that has " + name
                                     : "ask for " + others + ", or add a node that has " + name};
    }
    Shortage shortage{"the largest node has " + one_kind(name, largest).describe(),
                      "ask for " + one_kind(name, largest).describe()};
    if (wish.request.places == 1 && sum >= wanted) {
      const std::int64_t nodes = (wanted + largest - 1) / largest;
      shortage.largest += " and all together " + std::to_string(sum);
      shortage.remedy = "spread it: num_nodes: " + std::to_string(nodes) + " with " +
                        one_kind(name, (wanted + nodes - 1) / nodes).describe() + " each";
    }
    return shortage;
  }
  return std::nullopt;
}

Shortage shortage_of(const Wish& wish, const sched::Cluster& cluster) {
  if (auto devices = device_shortage(wish, cluster)) return *devices;
  Resources largest;
  for (const sched::Host* host : cluster.hosts()) {
    largest.milli_cpus = std::max(largest.milli_cpus, host->capacity.milli_cpus);
    largest.memory = std::max(largest.memory, host->capacity.memory);
  }
  const Resources& wanted = wish.request.per_place;
  Resources short_of;
  if (wanted.milli_cpus > largest.milli_cpus) short_of.milli_cpus = largest.milli_cpus;
  if (wanted.memory > largest.memory) short_of.memory = largest.memory;
  if (is_nothing(short_of)) {
    return {"no node has all of that together", "ask for less of one of them"};
  }
  return {"the largest node has " + short_of.describe(), "ask for " + short_of.describe()};
}

// Whether it is only that it keeps off nodes that may be taken away.
bool explain_spot(const Wish& wish, const sched::Cluster& known, Wait& wait) {
  if (!lacks_only_spot(wish.request, known)) return false;
  wait.reason = "Resources";
  wait.message = need_text(wish.request) + ", and those that have it are spot nodes";
  wait.remedy = "resources: {spot: true}, if it can bear to be moved";
  return true;
}

void explain_infeasible(const Wish& wish, const sched::Cluster& known, Wait& wait) {
  if (explain_spot(wish, known, wait)) return;
  const std::int64_t places = places_in(wish.request, known, Room::kCapacity);
  if (places == 0) {
    const Shortage shortage = shortage_of(wish, known);
    wait.reason = "Resources";
    wait.message = need_text(wish.request) + ", and " + shortage.largest;
    wait.remedy = shortage.remedy;
    return;
  }
  wait.reason = "GangIncomplete";
  wait.message = need_text(wish.request) + ", and the cluster has room for " +
                 std::to_string(places) + " of them";
  wait.remedy = "num_nodes: " + std::to_string(places);
  if (sched::feasible(wish.request, all_colocating(known))) {
    wait.message += " as long as nodes hold one place each";
    wait.remedy =
        "colocate: true in nodes.yaml in the home's folder, so that places share a node, or " +
        wait.remedy;
  }
}

// ---- it needs a node that is down

// Nodes that a request could use, were they there.
struct Missing {
  std::string down;  // "'a' (HeartbeatLost), 'b' (Preempted)".
  std::string bring_back;
  std::string draining;
  std::size_t count = 0;
};

void add_name(std::string& names, const std::string& name) {
  names += (names.empty() ? "" : ", ") + name;
}

Missing missing_nodes(const Wish& wish) {
  Missing missing;
  for (const auto& [id, node] : wish.state.nodes) {
    if (node.takes_work() || !node.is_member()) continue;
    if (!sched::could_hold(wish.request, idle_host(node))) continue;
    if (++missing.count > kHoldersShown) continue;
    const std::string name = quoted(id.str());
    if (node.up && node.info.draining) {
      add_name(missing.draining, name);
      continue;
    }
    add_name(missing.down, name + " (" + node.reason + ")");
    if (node.reason == model::kPreemptedReason) continue;  // It comes back by itself.
    add_name(missing.bring_back, name);
  }
  return missing;
}

void explain_down(const Wish& wish, Wait& wait) {
  const Missing missing = missing_nodes(wish);
  CHECK(missing.count > 0, "a request needs nodes that are down, and none is");
  const std::int64_t up = places_in(wish.request, wish.index.cluster, Room::kCapacity);
  const bool any_drains = !missing.draining.empty();
  wait.reason = "ReqNodeNotAvail";
  wait.message =
      need_text(wish.request) + "; " +
      (up > 0 ? std::string("those that ") + (any_drains ? "take work" : "are up") + " hold " +
                    std::to_string(up) + " of them"
              : std::string("no node that ") + (any_drains ? "takes work" : "is up") + " has that");
  const std::string be = missing.count == 1 ? " is " : " are ";
  if (!missing.down.empty()) wait.message += ", and down" + be + missing.down;
  if (any_drains) wait.message += ", and draining" + be + missing.draining;
  if (missing.count > kHoldersShown) {
    wait.message += " and " + std::to_string(missing.count - kHoldersShown) + " more";
  }
  if (!missing.bring_back.empty()) {
    wait.remedy = "bring " + missing.bring_back + " back";
  } else {
    wait.remedy = any_drains ? "name " + missing.draining + " in nodes.yaml again"
                             : "wait: a node that was preempted comes back by itself";
  }
}

// ---- others come first

struct Rival {
  StepKey key;
  sched::Request request;
};

// Whether two requests want the same nodes.
bool meet(const sched::Request& a, const sched::Request& b, const sched::Cluster& cluster) {
  const std::vector<const sched::Host*> hosts = cluster.hosts();
  return std::any_of(hosts.begin(), hosts.end(), [&](const sched::Host* host) {
    return sched::could_hold(a, *host) && sched::could_hold(b, *host);
  });
}

// The steps before this one that wait for room on its nodes and can get it some day. Looks as deep
// as the plan does.
std::vector<Rival> rivals_of(const Wish& wish) {
  std::vector<Rival> rivals;
  int looked_at = 0;
  for (const auto& [at, key] : wish.index.ready) {
    if (!(at < wish.request.key) || ++looked_at > sched::kBackfillDepthMax) break;
    const sched::Request request = request_of(wish.state, wish.index, key, wish.now);
    if (request.lanes_wanted <= 0 || !meet(request, wish.request, wish.index.cluster)) continue;
    if (sched::feasible(request, wish.index.cluster)) rivals.push_back({key, request});
  }
  return rivals;
}

std::string why_first(const Wish& wish, const Rival& rival) {
  if (rival.key.job == wish.key.job) return "an earlier step of this job";
  const std::int64_t theirs = -rival.request.key.negative_priority;
  const std::int64_t ours = -wish.request.key.negative_priority;
  if (theirs == ours) return "the older job at the same priority " + std::to_string(ours);
  return "priority " + std::to_string(theirs) + " over " + std::to_string(ours);
}

void block_by(Wait& wait, const JobId& job) {
  const bool known =
      std::find(wait.blockers.begin(), wait.blockers.end(), job) != wait.blockers.end();
  if (!known && wait.blockers.size() < kBlockersMax) wait.blockers.push_back(job);
}

void explain_priority(const Wish& wish, const std::vector<Rival>& rivals, Wait& wait) {
  const Rival& first = rivals.front();
  const bool fits = sched::place(wish.request, wish.index.cluster).has_value();
  const std::string first_text = "step " +
                                 quoted(spec_of(wish.state, first.key.job, first.key.step).name) +
                                 " of " + first.key.job.str() + " (" + why_first(wish, first) + ")";
  wait.reason = "Priority";
  wait.message = need_text(wish.request) + "; ";
  if (fits) {
    wait.message += "there is room, and it is kept for " + first_text;
  } else {
    wait.message += counted(std::ssize(rivals), "step") +
                    (rivals.size() == 1 ? " that wants the same nodes stands before it: "
                                        : " that want the same nodes stand before it, first ") +
                    first_text;
  }
  for (const Rival& rival : rivals) block_by(wait, rival.key.job);
  const std::int64_t highest = -first.request.key.negative_priority;
  if (first.key.job == wish.key.job || highest == std::numeric_limits<std::int32_t>::max()) return;
  wait.remedy = "priority: " + std::to_string(highest + 1) +
                (fits ? " would start it now" : " would put it first");
}

// ---- what it needs is in use

struct Holder {
  JobId job;
  std::map<NodeId, Resources> amounts;
  std::optional<Time> until;  // When all of it is free at the latest, if that is known.
  Resources sum() const {
    Resources all;
    for (const auto& [node, amount] : amounts) all.add(amount);
    return all;
  }
};

// The holders of anything on the nodes that could hold a place of the request, in order of jobs.
std::vector<Holder> holders_of(const Wish& wish, const std::optional<NodeId>& only) {
  std::map<JobId, Holder> holders;
  for (const auto& [id, lane] : wish.state.lanes) {
    const std::int32_t per_node = spec_of(wish.state, lane.job, lane.step).procs_per_node;
    const std::optional<Time> until = end_of_lane(wish.state, lane);
    for (const model::Place& place : lane.places()) {
      const sched::Host* host = wish.index.cluster.find(place.node);
      if (host == nullptr || !sched::could_hold(wish.request, *host)) continue;
      if (only.has_value() && place.node != *only) continue;
      const auto [found, first] = holders.try_emplace(lane.job, Holder{lane.job, {}, until});
      found->second.amounts[place.node].add(lane.per_place.times(place.ranks / per_node));
      std::optional<Time>& all = found->second.until;
      all = all && until ? std::optional(std::max(*all, *until)) : std::nullopt;
    }
  }
  std::vector<Holder> out;
  out.reserve(holders.size());
  for (auto& [job, holder] : holders) out.push_back(std::move(holder));
  return out;
}

void block_by_others(Wait& wait, const Wish& wish, const std::vector<Holder>& holders) {
  for (const Holder& holder : holders) {
    if (holder.job != wish.key.job) block_by(wait, holder.job);
  }
}

// Without those that stand in nobody's way: they hold nothing of `parts`.
std::vector<Holder> holders_of_any(const Resources& parts, std::vector<Holder> holders) {
  std::erase_if(holders,
                [&](const Holder& holder) { return is_nothing(parts_of(holder.sum(), parts)); });
  return holders;
}

// Nobody else has anything of what it waits for, so that one end makes room. Of a host that shrank
// below what it runs one end may free nothing.
bool waits_for_its_own(const Wish& wish, const sched::Host& host,
                       const std::vector<Holder>& holders) {
  return is_nothing(host.overdrawn) && holders.size() == 1 && holders.front().job == wish.key.job;
}

// "job7 holds 2 cpus, this job itself holds 1 cpu"
std::string holders_text(const std::vector<Holder>& holders, const JobId& asker,
                         const Resources& parts) {
  std::string text;
  for (std::size_t index = 0; index < holders.size() && index < kHoldersShown; ++index) {
    const JobId& job = holders[index].job;
    text += (index == 0 ? "" : ", ") + (job == asker ? "this job itself" : job.str()) + " holds " +
            parts_of(holders[index].sum(), parts).describe();
  }
  if (holders.size() > kHoldersShown) {
    text += " and " +
            counted(std::ssize(holders) - static_cast<std::ptrdiff_t>(kHoldersShown), "more job");
  }
  return text;
}

// When the request would fit if lanes only ended and none opened.
std::optional<Time> room_by(const Wish& wish) {
  sched::Future future(wish.request, wish.index.cluster.draft());
  for (const auto& [lane, amount] : wish.index.ends) {
    if (!lane.by.has_value()) break;
    future.give_back(lane.node, amount);
    if (future.fits()) return lane.by;
  }
  return std::nullopt;
}

std::string room_by_text(const Wish& wish) {
  const std::optional<Time> by = room_by(wish);
  if (!by) return "; when that ends is not known, since max_duration is not set";
  if (*by <= wish.now) return "; room is due now";
  return "; there is room by " + rfc3339(*by) + " at the latest (in " + human(*by - wish.now) + ")";
}

// The other job that, halted alone, makes room; the youngest of those that would do.
std::optional<JobId> job_in_the_way(const Wish& wish, const std::vector<Holder>& holders) {
  std::optional<JobId> found;
  std::int64_t order = -1;
  for (const Holder& holder : holders) {
    const Job& job = wish.state.jobs.at(holder.job);
    if (holder.job == wish.key.job || job.order <= order) continue;
    sched::Cluster without = wish.index.cluster.draft();
    for (const auto& [node, amount] : holder.amounts) without.give_back(node, amount);
    if (!sched::place(wish.request, without)) continue;
    found = holder.job;
    order = job.order;
  }
  return found;
}

std::string halt_remedy(const Wish& wish, const std::vector<Holder>& holders) {
  const std::optional<JobId> job = job_in_the_way(wish, holders);
  return job ? "runnel halt " + job->str() + " would make room" : "";
}

const sched::Host& closest_host(const Wish& wish) {
  const sched::Host* closest = nullptr;
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    if (!sched::could_hold(wish.request, *host)) continue;
    const auto lack = [&](const sched::Host& of) {
      return distance(lack_of(sched::share_of(wish.request, of), of.free));
    };
    if (closest == nullptr || lack(*host) < lack(*closest)) closest = host;
  }
  CHECK(closest != nullptr, "a feasible request that no node could hold");
  return *closest;
}

// " (1 of 8 H100 free)": of the kinds that `of` has. Empty when it has none.
std::string free_devices_text(const Resources& of, const Resources& free,
                              const Resources& capacity) {
  std::string text;
  for (const auto& [name, count] : of.accelerators) {
    if (count == 0) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(device_count(free, name)) + " of " +
            std::to_string(device_count(capacity, name)) + " " + name;
  }
  return text.empty() ? text : " (" + text + " free)";
}

std::string free_devices_text(const Wish& wish) {
  Resources free;
  Resources capacity;
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    if (!sched::could_hold(wish.request, *host)) continue;
    free.add(host->free);
    capacity.add(host->capacity);
  }
  return free_devices_text(wish.request.per_place, free, capacity);
}

// A step that keeps off spot nodes waits beside one that has room.
std::string spot_remedy(const Wish& wish) {
  sched::Request bold = wish.request;
  if (std::exchange(bold.spot_use, sched::SpotUse::kPreferred) != sched::SpotUse::kNever) return "";
  const std::optional<sched::Placement> room = sched::place(bold, wish.index.cluster);
  if (!room) return "";
  return "resources: {spot: true}, if it can bear to be moved: a spot node has room now";
}

void explain_busy_node(const Wish& wish, Wait& wait) {
  const sched::Host& host = closest_host(wish);
  const Resources share = sched::share_of(wish.request, host);
  const Resources lack = lack_of(share, host.free);
  const std::vector<Holder> holders = holders_of_any(lack, holders_of(wish, host.id));
  wait.reason = "Resources";
  wait.message = need_text(wish.request) + "; " + quoted(host.id.str()) +
                 " comes closest and lacks " + lack.describe() +
                 free_devices_text(lack, host.free, host.capacity);
  if (waits_for_its_own(wish, host, holders)) {
    wait.message = "its own tasks that run hold " +
                   parts_of(holders.front().sum(), lack).describe() + " of " +
                   quoted(host.id.str()) +
                   ", and nobody else holds any: the next begins when one "
                   "of them ends";
  } else if (!holders.empty()) {
    wait.message += ": " + holders_text(holders, wish.key.job, lack);
  }
  wait.message += room_by_text(wish);
  block_by_others(wait, wish, holders);
  const Resources left = parts_of(host.free, lack);
  wait.remedy = spot_remedy(wish);
  if (!wait.remedy.empty()) return;
  wait.remedy = some_of_each(lack, left) ? "ask for " + left.describe() + " and it starts now"
                                         : halt_remedy(wish, holders_of(wish, std::nullopt));
}

void explain_busy_gang(const Wish& wish, Wait& wait) {
  const std::int64_t places = places_in(wish.request, wish.index.cluster, Room::kFree);
  CHECK(places < wish.request.places, "a gang that fits is said to wait for room");
  const std::vector<Holder> holders = holders_of(wish, std::nullopt);
  wait.reason = "GangIncomplete";
  wait.message = need_text(wish.request) + ", all or none; there is room for " +
                 std::to_string(places) + " now" + free_devices_text(wish);
  const std::string held = holders_text(holders, wish.key.job, wish.request.per_place);
  if (!held.empty()) wait.message += ": " + held;
  wait.message += room_by_text(wish);
  block_by_others(wait, wish, holders);
  wait.remedy = places > 0 ? "num_nodes: " + std::to_string(places) + " would start now"
                           : halt_remedy(wish, holders);
}

// A node with room that suspects get once their next attempt is due.
std::optional<NodeId> node_kept_apart(const Wish& wish) {
  const std::optional<sched::Placement> room = sched::place(wish.request, wish.index.cluster);
  if (!room) return std::nullopt;
  std::vector<sched::Request> queue;
  for (auto& [key, request] : apart_requests(wish.state, wish.index, wish.now)) {
    if (request.not_before > wish.now) queue.push_back(std::move(request));
  }
  queue.push_back(wish.request);
  const auto running = [&]() -> const sched::LaneEnds& { return wish.index.ends; };
  const sched::Plan plan = sched::plan({&wish.index.cluster, queue, running, wish.now});
  return plan.grants.empty() ? std::optional(room->at.front().node) : std::nullopt;
}

// A node where the request would fit, were it not for suspects that are tried apart.
std::optional<NodeId> node_set_apart(const Wish& wish) {
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    const bool apart = wish.index.cluster.apart_of(*host).value_or(0) != 0;
    if (apart && sched::places_in(wish.request, *host, host->free) > 0) return host->id;
  }
  return node_kept_apart(wish);
}

// ---- nobody knows which devices are free

// What a node would have free if it granted its devices.
sched::Host granting_host(const Wish& wish, const sched::Host& host) {
  Resources used;
  for (const auto& [id, lane] : wish.state.lanes) {
    for (const model::Place& place : lane.places()) {
      if (place.node == host.id) used.add(held_by(wish.state, lane, place));
    }
  }
  sched::Host out = host;
  out.free.accelerators = host.capacity.beyond(used).accelerators;
  out.withheld = false;
  return out;
}

// The jobs whose tasks are strangers there, each once.
std::vector<JobId> jobs_of(const std::vector<model::RankRef>& strangers) {
  std::vector<JobId> jobs;
  for (const model::RankRef& rank : strangers) {
    const JobId& job = rank.attempt.task.job;
    if (std::find(jobs.begin(), jobs.end(), job) == jobs.end()) jobs.push_back(job);
  }
  return jobs;
}

std::string jobs_text(const std::vector<JobId>& jobs) {
  std::string text;
  for (std::size_t index = 0; index < jobs.size() && index < kHoldersShown; ++index) {
    text += (index == 0 ? "" : ", ") + jobs[index].str();
  }
  if (jobs.size() > kHoldersShown) {
    text += " and " +
            counted(std::ssize(jobs) - static_cast<std::ptrdiff_t>(kHoldersShown), "more job");
  }
  return text;
}

// The nodes that the request could use, and that keep it waiting only because they grant no devices
// for this reason; none when it would wait all the same.
template <typename Reason>
std::vector<const Node*> nodes_that_grant_none(const Wish& wish, Reason reason) {
  sched::Cluster granting;
  std::vector<const Node*> nodes;
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    const Node& node = wish.state.nodes.at(host->id);
    granting.join(reason(node) ? granting_host(wish, *host) : *host);
    if (reason(node) && sched::could_hold(wish.request, *host)) nodes.push_back(&node);
  }
  const bool helps = !nodes.empty() && sched::place(wish.request, granting).has_value();
  return helps ? nodes : std::vector<const Node*>();
}

void tell_of_no_grants(const Wish& wish, const std::vector<const Node*>& nodes,
                       const std::string& until, Wait& wait) {
  std::string names;
  for (const Node* node : nodes) {
    names += (names.empty() ? "" : " and ") + quoted(node->info.id.str());
  }
  wait.reason = "Resources";
  wait.message = need_text(wish.request) + "; " + names + " grants no devices" +
                 free_devices_text(wish) + " until " + until + ", have ended";
}

// Whether it is only that processes which nobody wants any more may have the devices.
bool explain_strangers(const Wish& wish, Wait& wait) {
  const std::vector<const Node*> nodes =
      nodes_that_grant_none(wish, [](const Node& node) { return !node.strangers.empty(); });
  if (nodes.empty()) return false;
  std::vector<model::RankRef> strangers;
  for (const Node* node : nodes) {
    strangers.insert(strangers.end(), node->strangers.begin(), node->strangers.end());
  }
  const std::vector<JobId> jobs = jobs_of(strangers);
  tell_of_no_grants(
      wish, nodes,
      "processes of " + jobs_text(jobs) + ", which may have any of them since the node was lost",
      wait);
  for (const JobId& job : jobs) block_by(wait, job);
  return true;
}

// Whether it is only that nodes.yaml was changed while tasks had devices.
bool explain_withheld(const Wish& wish, Wait& wait) {
  const std::vector<const Node*> nodes =
      nodes_that_grant_none(wish, [](const Node& node) { return node.info.withholds_devices; });
  if (nodes.empty()) return false;
  tell_of_no_grants(wish, nodes,
                    "tasks that began before nodes.yaml was changed, and have some of them", wait);
  wait.remedy = "see which: runnel nodes";
  return true;
}

// ---- devices that vanished

// What a node would have if those in quarantine were granted.
sched::Host host_with_quarantined(const Wish& wish, const sched::Host& host) {
  const Resources out_of_use = model::amount_of(quarantined_on(wish.state.nodes.at(host.id)));
  sched::Host out = host;
  out.capacity.add(out_of_use);
  out.free.add(out_of_use.beyond(out.overdrawn));
  out.overdrawn = out.overdrawn.beyond(out_of_use);
  return out;
}

sched::Cluster with_quarantined(const Wish& wish) {
  sched::Cluster cluster;
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    cluster.join(host_with_quarantined(wish, *host));
  }
  return cluster;
}

// "H100:3 of 'gpu', missing since 2026-01-02T03:04:05Z: GPU is lost".
std::string quarantined_text(const NodeId& node, const model::QuarantinedDevice& device) {
  std::string text = device.kind + ":" + std::to_string(device.index) + " of " +
                     quoted(node.str()) + ", missing since " + rfc3339(device.since);
  if (!device.reason.empty()) text += ": " + device.reason;
  if (device.again_at == Time()) return text;
  return text + "; it is back, and granted again at " + rfc3339(device.again_at) + " if it stays";
}

// Those of kinds that the request asks for, where they would be of use to it.
void explain_quarantine(const Wish& wish, Wait& wait) {
  std::string texts;
  bool any_missing = false;
  std::int64_t more = 0;
  for (const sched::Host* host : wish.index.cluster.hosts()) {
    if (!sched::could_hold(wish.request, host_with_quarantined(wish, *host))) continue;
    for (const model::QuarantinedDevice& device : wish.state.nodes.at(host->id).quarantined) {
      if (device_count(wish.request.per_place, device.kind) == 0) continue;
      any_missing = any_missing || device.again_at == Time();
      if (!texts.empty()) ++more;
      if (texts.empty()) texts = quarantined_text(host->id, device);
    }
  }
  wait.reason = "Resources";
  wait.message = need_text(wish.request) + ", and nobody is granted " + texts;
  if (more > 0) wait.message += "; and " + counted(more, "more device");
  if (!any_missing) return;
  wait.remedy = "look at the device where it was: nvidia-smi, dmesg; back, it is granted again " +
                human(kDeviceProof) + " later; gone for good: declare the node without it";
}

// Whether it is only that devices are in quarantine.
bool lacks_only_quarantined(const Wish& wish) {
  return sched::place(wish.request, with_quarantined(wish)).has_value();
}

void explain_busy(const Wish& wish, Wait& wait) {
  if (const std::optional<NodeId> node = node_set_apart(wish)) {
    wait.reason = "Resources";
    wait.message = need_text(wish.request) + "; " + quoted(node->str()) +
                   " has room, and is kept for tasks that ran when its runner was killed, until it "
                   "is known which of them does that";
  } else if (sched::place(wish.request, wish.index.cluster)) {
    wait.reason = "Resources";
    wait.message =
        need_text(wish.request) + ", and there is room: it starts with the next decision";
  } else if (explain_strangers(wish, wait) || explain_withheld(wish, wait)) {
    return;
  } else if (lacks_only_quarantined(wish)) {
    explain_quarantine(wish, wait);
  } else if (wish.request.places > 1) {
    explain_busy_gang(wish, wait);
  } else {
    explain_busy_node(wish, wait);
  }
}

}  // namespace

std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void explain_room(const Wish& wish, Wait& wait) {
  if (wish.index.known.hosts().empty()) {
    wait.reason = "ReqNodeNotAvail";
    wait.message = need_text(wish.request) + ", and no node has joined yet";
    wait.remedy =
        "the daemon, which any command starts, brings this machine, or the nodes of nodes.yaml in "
        "the home's folder (`runnel home` names it); what keeps them away: runnel nodes";
    return;
  }
  if (!sched::feasible(wish.request, wish.index.cluster)) {
    if (sched::feasible(wish.request, with_quarantined(wish))) {
      return explain_quarantine(wish, wait);
    }
    const sched::Cluster& known = wish.index.known;
    if (sched::feasible(wish.request, known)) return explain_down(wish, wait);
    return explain_infeasible(wish, known, wait);
  }
  const std::vector<Rival> rivals = rivals_of(wish);
  // No priority gets past suspects.
  const bool kept_apart = !wish.index.suspects.empty() && node_set_apart(wish).has_value();
  if (!rivals.empty() && !kept_apart) return explain_priority(wish, rivals, wait);
  explain_busy(wish, wait);
}

}  // namespace runnel::brain
