#include "control/device_document.h"

#include <map>
#include <string>
#include <utility>

#include "base/check.h"
#include "brain/places.h"

namespace runnel::control {
namespace {

using json::Value;

Value indices(const IntervalSet& set) {
  Value::List list;
  for (const auto& [begin, end] : set.ranges()) {
    for (std::int64_t index = begin; index < end; ++index) list.push_back(Value::integer(index));
  }
  return Value::list(std::move(list));
}

Value devices_value(const model::Devices& devices) {
  Value out = Value::object();
  for (const auto& [kind, set] : devices) out.set(kind, indices(set));
  return out;
}

// The position of the step is all there is of a job that is forgotten.
std::string step_name(const brain::State& state, const JobId& job, StepIndex step) {
  if (!state.jobs.contains(job)) return std::to_string(step.value());
  return brain::spec_of(state, job, step).name;
}

Value held_value(const brain::State& state, const brain::Lane& lane,
                 const model::Devices& devices) {
  Value out = Value::object();
  out.set("devices", devices_value(devices));
  out.set("job", Value::text(lane.job.str()));
  out.set("lane", Value::integer(lane.id.value()));
  out.set("step", Value::text(step_name(state, lane.job, lane.step)));
  if (!lane.queue.empty()) out.set("task", Value::integer(lane.queue.front().value()));
  return out;
}

Value stranger_value(const brain::State& state, const model::RankRef& rank) {
  const model::TaskRef& task = rank.attempt.task;
  Value out = Value::object();
  out.set("attempt", Value::integer(rank.attempt.attempt.value()));
  out.set("job", Value::text(task.job.str()));
  out.set("rank", Value::integer(rank.rank));
  out.set("step", Value::text(step_name(state, task.job, task.step)));
  out.set("task", Value::integer(task.index.value()));
  return out;
}

Value quarantined_value(const model::QuarantinedDevice& device) {
  Value out = Value::object();
  if (device.again_at != Time()) out.set("again_at", Value::text(rfc3339(device.again_at)));
  out.set("index", Value::integer(device.index));
  out.set("kind", Value::text(device.kind));
  out.set("reason", Value::text(device.reason));
  out.set("since", Value::text(rfc3339(device.since)));
  return out;
}

Value free_value(const brain::Node& node, const model::Resources& used) {
  const model::Devices out_of_use = brain::quarantined_on(node);
  const model::Resources free =
      node.info.capacity.beyond(model::amount_of(out_of_use)).beyond(used);
  const bool grants = node.grants_devices() && !node.info.draining;
  Value out = Value::object();
  for (const auto& [kind, all] : node.info.capacity.accelerators) {
    const auto found = free.accelerators.find(kind);
    const bool any = found != free.accelerators.end() && grants;
    out.set(kind, Value::integer(any ? found->second : 0));
  }
  return out;
}

}  // namespace

void write_devices(json::Writer& out, const std::vector<model::Place>& places) {
  std::map<std::string, model::Devices> by_node;
  for (const model::Place& place : places) {
    if (!place.devices.empty()) model::insert(by_node[place.node.str()], place.devices);
  }
  if (by_node.empty()) return;
  out.key("devices").begin_object();
  for (const auto& [node, devices] : by_node) out.key(node).raw(devices_value(devices).dump());
  out.end_object();
}

Value node_devices(const brain::State& state, const brain::Node& node) {
  CHECK(!node.info.capacity.accelerators.empty(), "the devices of a node that has none are told");
  model::Resources used;
  Value::List held;
  for (const auto& [id, lane] : state.lanes) {
    model::Devices devices;
    for (const model::Place& place : lane.places()) {
      if (place.node != node.info.id) continue;
      used.add(brain::held_by(state, lane, place));
      model::insert(devices, place.devices);
    }
    if (!devices.empty()) held.push_back(held_value(state, lane, devices));
  }
  Value out = Value::object();
  out.set("free", free_value(node, used));
  out.set("held", Value::list(std::move(held)));
  if (!node.quarantined.empty()) {
    Value::List quarantined;
    for (const auto& device : node.quarantined) quarantined.push_back(quarantined_value(device));
    out.set("quarantined", Value::list(std::move(quarantined)));
  }
  if (node.strangers.empty()) return out;
  Value::List strangers;
  for (const model::RankRef& rank : node.strangers) {
    strangers.push_back(stranger_value(state, rank));
  }
  out.set("strangers", Value::list(std::move(strangers)));
  return out;
}

}  // namespace runnel::control
