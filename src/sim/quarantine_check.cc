#include "sim/quarantine_check.h"

#include <algorithm>
#include <set>
#include <utility>

namespace runnel::sim {
namespace {

using model::Status;

std::string named(LaneId lane) { return "lane " + std::to_string(lane.value()); }

}  // namespace

bool QuarantineCheck::touches(const std::vector<model::Place>& places, const ByNode& devices) {
  return std::any_of(places.begin(), places.end(), [&](const model::Place& place) {
    const auto here = devices.find(place.node);
    return here != devices.end() && model::overlap(place.devices, here->second);
  });
}

void QuarantineCheck::before(const std::vector<model::Event>& events) {
  for (const model::Event& event : events) {
    if (const auto* what = std::get_if<model::DevicesQuarantined>(&event)) on(*what);
  }
}

void QuarantineCheck::on(const model::DevicesQuarantined& event) {
  model::Devices& out = out_[event.node];
  model::Devices& missing = missing_[event.node];
  out.clear();
  missing.clear();
  for (const model::QuarantinedDevice& device : event.devices) {
    out[device.kind].insert(device.index, device.index + 1);
    if (device.again_at != Time()) continue;
    missing[device.kind].insert(device.index, device.index + 1);
  }
}

std::string QuarantineCheck::on(const model::LaneOpened& event) {
  lanes_[event.lane] = model::places_of(event.holding);
  return touches(model::places_of(event.holding), out_)
             ? named(event.lane) + " has a device in quarantine"
             : "";
}

std::string QuarantineCheck::on(const model::LaneExtended& event) {
  const bool broken = touches(lanes_[event.lane], out_);
  return broken ? named(event.lane) + " goes on with a device in quarantine" : "";
}

std::string QuarantineCheck::on(const model::AttemptEnded& event) const {
  const auto lane = lanes_.find(event.lane);
  if (!event.charged || lane == lanes_.end() || !touches(lane->second, missing_)) return "";
  return "attempt " + model::to_string(event.attempt) + " pays for a device that vanished";
}

std::string QuarantineCheck::check(const brain::State& state) const {
  for (const auto& [id, places] : lanes_) {
    if (!touches(places, missing_)) continue;
    const brain::Lane& lane = state.lanes.at(id);
    for (const TaskIndex task : lane.queue) {
      const auto& live = brain::find_task(state, {lane.job, lane.step, task})->live;
      if (live && !live->continues()) continue;
      return named(id) + " goes on though a device of it is missing";
    }
  }
  return "";
}

QuarantineCounts count_quarantine(const std::vector<model::Event>& events) {
  using Key = std::pair<std::string, std::int64_t>;
  QuarantineCounts counts;
  std::map<NodeId, std::map<Key, bool>> known;  // Whether it is missing.
  for (const model::Event& event : events) {
    if (const auto* ended = std::get_if<model::AttemptEnded>(&event)) {
      counts.moved += ended->reason == "DeviceLost" ? 1 : 0;
    }
    const auto* what = std::get_if<model::DevicesQuarantined>(&event);
    if (what == nullptr) continue;
    std::map<Key, bool> next;
    for (const auto& device : what->devices) {
      next[{device.kind, device.index}] = device.again_at == Time();
    }
    std::map<Key, bool>& last = known[what->node];
    for (const auto& [key, missing] : next) {
      const auto was = last.find(key);
      counts.vanished += missing && (was == last.end() || !was->second) ? 1 : 0;
    }
    for (const auto& [key, missing] : last) counts.again += next.contains(key) ? 0 : 1;
    last = std::move(next);
  }
  return counts;
}

}  // namespace runnel::sim
