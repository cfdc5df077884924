#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/bind.h"
#include "brain/places.h"
#include "brain/suspects.h"
#include "brain/turn.h"
#include "brain/wish.h"
#include "hash/xxh3.h"
#include "sched/devices.h"
#include "sched/place.h"
#include "sched/plan.h"

namespace runnel::brain {
namespace {

using model::Status;

// A lane holds tasks for about this long ahead, so that no round trip stands between two short
// ones, and gives them back when a more urgent step wants its place.
constexpr std::int64_t kAheadWindowMillis = 100;
constexpr std::int64_t kAheadTasksMax = 256;

bool gang(const model::StepSpec& spec) { return spec.rank_count() > 1; }

bool learns(const model::StepSpec& spec) {
  using Method = model::SearchSpec::Method;
  if (!spec.search) return false;
  const bool blind = spec.search->method == Method::kGrid || spec.search->method == Method::kRandom;
  return !blind || spec.search->pruner.has_value();
}

std::int64_t waiting_tasks(const Turn& turn, const StepKey& key) {
  return waiting_tasks(turn.state(), turn.index(), key, turn.now());
}

sched::Request request_of(const Turn& turn, const StepKey& key) {
  return request_of(turn.state(), turn.index(), key, turn.now());
}

// How many tasks a lane should hold, the running one included.
std::int64_t ahead_of(const Turn& turn, const StepKey& key) {
  const Step& step = step_of(turn.state(), key.job, key.step);
  const model::StepSpec& spec = spec_of(turn.state(), key.job, key.step);
  // A trial that is asked for early knows less.
  if (gang(spec) || learns(spec) || step.recent_millis < 0) return 1;
  const std::int64_t by_time =
      1 + kAheadWindowMillis / std::max<std::int64_t>(1, step.recent_millis);
  // Near the end the rest is shared, so that no lane sits idle beside a long queue.
  const std::int64_t share = waiting_tasks(turn, key) / (2 * std::max(1, step.lanes)) + 1;
  return std::min({by_time, share, kAheadTasksMax});
}

// Whether the node, or one that shares its runner, could hold a place of the request.
bool runner_could_hold(const sched::Cluster& cluster, const sched::Request& request,
                       const NodeId& node) {
  const sched::Host* own = cluster.find(node);
  if (own == nullptr) return false;
  if (own->runner.empty()) return sched::could_hold(request, *own);
  const std::vector<const sched::Host*> hosts = cluster.hosts();
  return std::any_of(hosts.begin(), hosts.end(), [&](const sched::Host* host) {
    return host->runner == own->runner && sched::could_hold(request, *host);
  });
}

// Whether a suspect whose turn it is waits for one of the lane's nodes or one beside it, and was
// patient.
bool wanted_apart(const Turn& turn, const Lane& lane, const StepKey& key) {
  for (const auto& [other, request] : apart_requests(turn.state(), turn.index(), turn.now())) {
    if (turn.now() - request.waiting_since < request.patience) continue;
    if (other == key) return true;  // Under the same `parallel`.
    for (const model::Place& place : lane.places()) {
      if (runner_could_hold(turn.index().cluster, request, place.node)) return true;
    }
  }
  return false;
}

// Whether a step before this one in the queue waits for room and could use one of the lane's nodes.
bool contended(const Turn& turn, const Lane& lane, const StepKey& key) {
  const sched::QueueKey own = queue_key(turn.state().jobs.at(key.job), key.step);
  int looked_at = 0;
  for (const auto& [at, other] : turn.index().ready) {
    if (!(at < own) || ++looked_at > sched::kBackfillDepthMax) return false;
    const sched::Request request = request_of(turn, other);
    if (request.lanes_wanted <= 0) continue;
    for (const model::Place& place : lane.places()) {
      const sched::Host* host = turn.index().cluster.find(place.node);
      if (host == nullptr) continue;
      if (sched::could_hold(request, *host)) return true;
    }
  }
  return false;
}

// Whether the place's devices are known, are there, and nobody else can be at them.
bool devices_take_more(const Turn& turn, const Lane& lane, const model::Place& place) {
  if (lane.per_place.accelerators.empty()) return true;
  const Node& node = turn.state().nodes.at(place.node);
  return node.grants_devices() &&
         model::covers(place.devices, held_by(turn.state(), lane, place)) &&
         !model::overlap(place.devices, quarantined_on(node)) &&
         model::are_within(place.devices, node.info.capacity);
}

// A node that came back smaller than what runs on it gets nothing more until that has ended.
bool nodes_take_more(const Turn& turn, const Lane& lane) {
  return std::all_of(lane.places().begin(), lane.places().end(), [&](const model::Place& place) {
    const sched::Host* host = turn.index().cluster.find(place.node);
    return host != nullptr && host->overdrawn == model::Resources() &&
           devices_take_more(turn, lane, place);
  });
}

// Whether what would be bound behind the lane's running task would be withdrawn at once.
bool stands_still(const Turn& turn, const Lane& lane) {
  return !lane.queue.empty() && lane.progress_at + kAheadPatience <= turn.now();
}

// Gives a lane that runs low its next tasks, or closes it when it is empty and gets none.
void refill_lane(Turn& turn, LaneId id) {
  auto found = turn.state().lanes.find(id);
  if (found == turn.state().lanes.end()) return;
  const Lane& lane = found->second;
  const StepKey key{lane.job, lane.step};
  const auto held = static_cast<std::int64_t>(lane.queue.size());
  const std::int64_t waiting = waiting_tasks(turn, key);
  const bool may_extend = lane.lease() == nullptr && lane.apart == 0 && !turn.is_given_up(id) &&
                          waiting > 0 && may_run(turn.state().jobs.at(key.job), key.step) &&
                          nodes_take_more(turn, lane) && !stands_still(turn, lane) &&
                          !contended(turn, lane, key) && !wanted_apart(turn, lane, key);
  if (may_extend) {
    const std::int64_t ahead = ahead_of(turn, key);
    // Refilling at half keeps the number of events low.
    if (held * 2 <= ahead && held < ahead) bind(turn, id, key, std::min(ahead - held, waiting));
    // Nothing of it waits any more, so no room is kept for it: others may start there.
    if (waiting_tasks(turn, key) == 0) turn.want_plan();
    return;
  }
  if (held > 0) return;
  turn.emit(model::LaneClosed{id, key.job});
  turn.want_plan();
}

// Where in a range of `count` ports a gang begins to look. Homes of one machine, copies of each
// other too, know nothing of each other's gangs: each looks elsewhere, a replay at the same place.
std::int32_t place_in_range(const JobId& job, std::int32_t last_port, std::int32_t count) {
  const std::string salt = job.str() + ":" + std::to_string(last_port);
  return static_cast<std::int32_t>(hash::xxh3(salt) % static_cast<std::uint64_t>(count));
}

// A port of the first node's range that no live gang there uses.
std::int32_t choose_port(const Turn& turn, const NodeId& node, const JobId& job) {
  const model::NodeInfo& info = turn.state().nodes.at(node).info;
  const std::int32_t count = info.port_last - info.port_first + 1;
  CHECK(count > 0, "a node without ports for gangs");
  std::set<std::int32_t> taken;
  const auto lanes = turn.index().lanes_on.find(node);
  if (lanes != turn.index().lanes_on.end()) {
    for (LaneId lane : lanes->second) taken.insert(turn.state().lanes.at(lane).port);
  }
  const std::int32_t begin = place_in_range(job, turn.state().last_port, count);
  for (std::int32_t step = 0; step < count; ++step) {
    const std::int32_t port = info.port_first + (begin + step) % count;
    if (!taken.contains(port)) return port;
  }
  return 0;  // All in use: the node will report it busy and the gang waits.
}

// What nobody may be granted: it is held, or in quarantine.
model::Devices devices_taken(const Turn& turn, const NodeId& node) {
  model::Devices taken = quarantined_on(turn.state().nodes.at(node));
  const auto held = turn.index().devices.find(node);
  if (held != turn.index().devices.end()) model::insert(taken, held->second);
  return taken;
}

void open_lane(Turn& turn, const StepKey& key, const sched::Placement& placement,
               std::int64_t apart) {
  const model::StepSpec& spec = spec_of(turn.state(), key.job, key.step);
  model::LaneOpened event;
  event.lane = LaneId(turn.state().last_lane.value() + 1);
  event.job = key.job;
  event.step = key.step;
  model::Places places;
  for (const sched::Placement::At& at : placement.at) {
    const model::NodeInfo& node = turn.state().nodes.at(at.node).info;
    places.all.push_back({at.node, at.places * spec.procs_per_node,
                          sched::pick_devices(devices_taken(turn, at.node), node.capacity,
                                              at.per_place.times(at.places))});
  }
  event.per_place = placement.at.front().per_place;
  event.apart = apart;
  if (gang(spec)) event.port = choose_port(turn, places.all.front().node, key.job);
  event.holding = std::move(places);
  const LaneId lane = event.lane;
  turn.emit(std::move(event));
  bind(turn, lane, key, 1);
}

// One plan over the head of the queue. Returns how many lanes it opened.
std::size_t run_plan(Turn& turn) {
  std::vector<StepKey> keys;
  std::vector<sched::Request> queue;
  std::map<StepKey, std::int64_t> apart;  // Lanes that suspects of the step want.
  for (auto& [key, request] : apart_requests(turn.state(), turn.index(), turn.now())) {
    if (queue.size() == static_cast<std::size_t>(sched::kBackfillDepthMax)) break;
    apart[key] += request.lanes_wanted;
    queue.push_back(std::move(request));
    keys.push_back(key);
  }
  for (const auto& [at, key] : turn.index().ready) {
    if (queue.size() == static_cast<std::size_t>(sched::kBackfillDepthMax)) break;
    sched::Request request = request_of(turn, key);
    const auto& parallel = spec_of(turn.state(), key.job, key.step).parallel;
    if (const auto more = apart.find(key); parallel && more != apart.end()) {
      const std::int64_t lanes = step_of(turn.state(), key.job, key.step).lanes + more->second;
      request.lanes_wanted = std::min(request.lanes_wanted, *parallel - lanes);
    }
    if (request.lanes_wanted <= 0) continue;  // Only back-offs that are not over.
    queue.push_back(std::move(request));
    keys.push_back(key);
  }
  if (queue.empty()) return 0;
  const auto running = [&turn]() -> const sched::LaneEnds& { return turn.index().ends; };
  const sched::Plan plan = sched::plan({&turn.index().cluster, queue, running, turn.now()});
  for (const sched::Grant& grant : plan.grants) {
    open_lane(turn, keys[grant.request], grant.placement, queue[grant.request].apart);
  }
  return plan.grants.size();
}

}  // namespace

void withdraw_congested(Turn& turn) {
  while (!turn.index().congested.empty() && turn.index().congested.begin()->first <= turn.now()) {
    const Lane& lane = turn.state().lanes.at(turn.index().congested.begin()->second);
    std::vector<model::AttemptRef> behind;
    for (std::size_t place = lane.queue.size(); place-- > 1;) {
      const model::TaskRef task{lane.job, lane.step, lane.queue[place]};
      const LiveAttempt& live = *find_task(turn.state(), task)->live;
      if (!live.stopping.has_value()) behind.push_back({task, live.number});
    }
    CHECK(!behind.empty(), "a lane counts as congested with nothing to withdraw");
    const LaneId id = lane.id;
    for (const model::AttemptRef& attempt : behind) {
      turn.emit(model::AttemptStopping{attempt, id, Status::kQueued, "runnel"});
    }
  }
}

void settle(Turn& turn) {
  for (;;) {
    end_released(turn);
    const std::set<LaneId> lanes = turn.take_lanes();
    for (LaneId lane : lanes) refill_lane(turn, lane);
    const std::set<StepKey> steps = turn.take_steps();
    for (const StepKey& step : steps) progress_step(turn, step);
    if (turn.take_plan_wanted()) {
      if (run_plan(turn) >= static_cast<std::size_t>(sched::kGrantsPerPlanMax)) turn.want_plan();
      continue;
    }
    if (lanes.empty() && steps.empty()) return;
  }
}

}  // namespace runnel::brain
