#include "brain/quarantine.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "brain/places.h"

namespace runnel::brain {
namespace {

using model::MissingDevice;
using model::QuarantinedDevice;
using model::Status;

auto key_of(const QuarantinedDevice& device) { return std::tie(device.kind, device.index); }

bool names_device_of(const Node& node, const MissingDevice& device) {
  const auto all = node.info.capacity.accelerators.find(device.kind);
  return all != node.info.capacity.accelerators.end() && device.index >= 0 &&
         device.index < all->second;
}

const QuarantinedDevice* find(const std::vector<QuarantinedDevice>& all, const std::string& kind,
                              std::int64_t index) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const QuarantinedDevice& device) {
    return device.kind == kind && device.index == index;
  });
  return found == all.end() ? nullptr : &*found;
}

// The node's quarantine by its newest report: since when a device is missing is not told anew.
std::vector<QuarantinedDevice> quarantine_by(const Node& node, const model::DeviceReport& report,
                                             Time now) {
  std::vector<QuarantinedDevice> next;
  for (const MissingDevice& device : report.missing) {
    if (!names_device_of(node, device) || find(next, device.kind, device.index)) continue;
    const QuarantinedDevice* was = find(node.quarantined, device.kind, device.index);
    if (was != nullptr && was->again_at == Time()) {
      next.push_back(*was);
    } else {
      next.push_back({device.kind, device.index, device.reason, device.since, {}});
    }
  }
  for (const QuarantinedDevice& was : node.quarantined) {
    const MissingDevice device{was.kind, was.index, {}, {}};
    if (!names_device_of(node, device) || find(next, was.kind, was.index)) continue;
    next.push_back(was);
    if (was.again_at == Time()) next.back().again_at = now + kDeviceProof;
  }
  std::sort(next.begin(), next.end(),
            [](const auto& a, const auto& b) { return key_of(a) < key_of(b); });
  return next;
}

// Those behind the first, too: they would begin with what is not there.
void end_lane(Turn& turn, LaneId id) {
  const Lane& lane = turn.state().lanes.at(id);
  std::vector<model::AttemptRef> attempts;
  for (const TaskIndex index : lane.queue) {
    const model::TaskRef task{lane.job, lane.step, index};
    const LiveAttempt& live = *find_task(turn.state(), task)->live;
    if (live.continues()) attempts.push_back({task, live.number});
  }
  for (const model::AttemptRef& attempt : attempts) {
    turn.emit(model::AttemptStopping{attempt, id, Status::kNodeFail, "runnel"});
  }
}

void end_holders(Turn& turn, const NodeId& node) {
  const auto lanes = turn.index().lanes_on.find(node);
  if (lanes == turn.index().lanes_on.end()) return;
  for (const LaneId id : std::set<LaneId>(lanes->second)) {
    if (!loss_text(turn.state(), turn.state().lanes.at(id)).empty()) end_lane(turn, id);
  }
}

// The devices of the place that are missing, and the reason of the first.
std::string loss_text(const Node& node, const model::Place& place) {
  model::Devices lost;
  std::string reason;
  for (const QuarantinedDevice& device : node.quarantined) {
    const auto held = place.devices.find(device.kind);
    if (device.again_at != Time() || held == place.devices.end()) continue;
    if (!held->second.contains(device.index)) continue;
    lost[device.kind].insert(device.index, device.index + 1);
    if (reason.empty()) reason = device.reason;
  }
  if (lost.empty()) return "";
  return "its " + model::describe(lost) + " on " + node.info.id.str() +
         " vanished while it had it" + (reason.empty() ? "" : ": " + reason);
}

}  // namespace

std::string loss_text(const State& state, const Lane& lane) {
  for (const model::Place& place : lane.places()) {
    if (place.devices.empty()) continue;
    std::string text = loss_text(state.nodes.at(place.node), place);
    if (!text.empty()) return text;
  }
  return "";
}

void take_devices(Turn& turn, const NodeId& id, const model::DeviceReport& report) {
  const auto found = turn.state().nodes.find(id);
  CHECK(found != turn.state().nodes.end(), "devices are told of by a node that never joined");
  const Node& node = found->second;
  std::vector<QuarantinedDevice> next = quarantine_by(node, report, turn.now());
  if (next == node.quarantined) return;
  turn.emit(model::DevicesQuarantined{id, std::move(next)});
  end_holders(turn, id);
  turn.want_plan();
}

void release_devices(Turn& turn) {
  const auto& returning = turn.index().returning;
  while (!returning.empty() && returning.begin()->first <= turn.now()) {
    const Node& node = turn.state().nodes.at(returning.begin()->second);
    std::vector<QuarantinedDevice> rest = node.quarantined;
    std::erase_if(rest, [&](const QuarantinedDevice& device) {
      return device.again_at != Time() && device.again_at <= turn.now();
    });
    CHECK(rest.size() < node.quarantined.size(), "a node returns no device at its time");
    turn.emit(model::DevicesQuarantined{node.info.id, std::move(rest)});
    turn.want_plan();
  }
}

}  // namespace runnel::brain
