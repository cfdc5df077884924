#include "brain/places.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace runnel::brain {
namespace {

// Whether what ran there is lost, and its node is still to tell.
bool lost_with_runner(const State& state, const Lane& lane) {
  return !lane.queue.empty() &&
         find_task(state, {lane.job, lane.step, lane.queue.front()})->live->crashed;
}

}  // namespace

Share share_of(const Lane& lane, const NodeId& node) {
  Share share;
  for (const model::Place& place : lane.places()) {
    if (place.node == node) {
      share.rank_count += place.ranks;
    } else if (share.rank_count == 0) {
      share.first_rank += place.ranks;
    } else {
      break;
    }
  }
  return share;
}

std::vector<NodeId> nodes_of(const std::vector<model::Place>& places) {
  std::vector<NodeId> nodes;
  for (const model::Place& place : places) {
    if (std::find(nodes.begin(), nodes.end(), place.node) == nodes.end()) {
      nodes.push_back(place.node);
    }
  }
  return nodes;
}

std::vector<NodeId> nodes_of(const State& state, const JobId& job) {
  const auto known = state.jobs.find(job);
  if (known == state.jobs.end()) return {};
  std::int32_t left = 0;
  for (const Step& step : known->second.steps) left += step.lanes;
  std::set<NodeId> nodes;
  // The newest first: those of old jobs are seldom asked for.
  for (auto lane = state.lanes.rbegin(); left > 0; ++lane) {
    CHECK(lane != state.lanes.rend(), "a job has more lanes than there are");
    if (lane->second.job != job) continue;
    --left;
    for (const model::Place& place : lane->second.places()) nodes.insert(place.node);
  }
  return {nodes.begin(), nodes.end()};
}

model::Resources held_by(const State& state, const Lane& lane, const model::Place& place) {
  const std::int32_t procs_per_node = spec_of(state, lane.job, lane.step).procs_per_node;
  CHECK(procs_per_node > 0, "a step with places of no processes");
  CHECK(place.ranks % procs_per_node == 0, "a place holds part of a node's processes");
  return lane.per_place.times(place.ranks / procs_per_node);
}

Duration limit_of(const model::StepSpec& spec) {
  return spec.max_duration.is_zero() ? Duration() : spec.max_duration + spec.grace;
}

std::optional<Time> end_of_lane(const State& state, const Lane& lane) {
  if (lost_with_runner(state, lane)) return lane.progress_at;
  const Duration limit = limit_of(spec_of(state, lane.job, lane.step));
  return limit.is_zero() ? std::nullopt : std::optional(lane.progress_at + limit);
}

model::Devices quarantined_on(const Node& node) {
  model::Devices out;
  for (const model::QuarantinedDevice& device : node.quarantined) {
    const auto all = node.info.capacity.accelerators.find(device.kind);
    if (all == node.info.capacity.accelerators.end() || device.index >= all->second) continue;
    CHECK(device.index >= 0, "a device before the first");
    out[device.kind].insert(device.index, device.index + 1);
  }
  return out;
}

}  // namespace runnel::brain
