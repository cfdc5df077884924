#include "control/api/node_routes.h"

#include <map>
#include <utility>

#include "brain/places.h"
#include "control/device_document.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using json::Value;

Value resources_document(const model::Resources& resources) {
  Value accelerators = Value::object();
  for (const auto& [name, count] : resources.accelerators) {
    accelerators.set(name, Value::integer(count));
  }
  Value out = Value::object();
  out.set("accelerators", std::move(accelerators));
  out.set("memory", Value::integer(resources.memory.count()));
  out.set("milli_cpus", Value::integer(resources.milli_cpus));
  return out;
}

struct Use {
  model::Resources held;
  std::int64_t lanes = 0;
};

std::map<NodeId, Use> use_of(const brain::State& state) {
  std::map<NodeId, Use> uses;
  for (const auto& [id, lane] : state.lanes) {
    for (const model::Place& place : lane.places()) {
      Use& use = uses[place.node];
      use.held.add(brain::held_by(state, lane, place));
      ++use.lanes;
    }
  }
  return uses;
}

// Prices in dollars per hour; nothing for a node that has none.
void add_prices(Value& out, const model::NodeInfo& node) {
  if (!node.instance.empty()) out.set("instance", Value::text(node.instance));
  if (!node.price.is_zero()) out.set("price", Value::decimal(dollars(node.price)));
  out.set("spot", Value::boolean(node.spot));
  if (!node.spot_price.is_zero()) {
    out.set("spot_price", Value::decimal(dollars(node.spot_price)));
  }
}

Value node_document(const brain::State& state, const brain::Node& node, const Use& use) {
  Value out = Value::object();
  add_prices(out, node.info);
  out.set("address", Value::text(node.info.address));
  out.set("capacity", resources_document(node.info.capacity));
  if (!node.info.capacity.accelerators.empty()) out.set("devices", node_devices(state, node));
  if (node.info.draining) out.set("draining", Value::boolean(true));
  out.set("id", Value::text(node.info.id.str()));
  out.set("incarnation", Value::text(node.incarnation.str()));
  out.set("lanes", Value::integer(use.lanes));
  if (node.leaves_at != Time()) out.set("leaves_at", Value::text(rfc3339(node.leaves_at)));
  out.set("pool", Value::text(node.info.pool));
  if (!node.reason.empty()) out.set("reason", Value::text(node.reason));
  out.set("up", Value::boolean(node.up));
  out.set("used", resources_document(use.held));
  if (node.info.withholds_devices) out.set("withholds_devices", Value::boolean(true));
  return out;
}

Value nodes_document(const LogWriter& writer) {
  const std::map<NodeId, Use> uses = use_of(writer.state());
  Value::List nodes;
  for (const auto& [id, node] : writer.state().nodes) {
    auto use = uses.find(id);
    nodes.push_back(node_document(writer.state(), node, use != uses.end() ? use->second : Use()));
  }
  Value out = Value::object();
  out.set("nodes", Value::list(std::move(nodes)));
  return out;
}

Result<std::string> nodes_text(const LogWriter& writer, const HomeInfo& home) {
  Value out = nodes_document(writer);
  if (home.nodes_problem) out.set("nodes_problem", silence_document(*home.nodes_problem));
  if (home.runner_silence) out.set("runner_silence", silence_document(*home.runner_silence));
  return out.dump();
}

}  // namespace

std::vector<Route> NodeRoutes::table() {
  return {
      route({.path = "/nodes", .summary = "Nodes and what is free on them", .answer = "NodeList"},
            *this, &NodeRoutes::list),
      route({.method = http::Method::kPost,
             .path = "/nodes/{name}:preempt",
             .summary = "Take a node away for a while, with a notice",
             .answer = "Preemption"},
            *this, &NodeRoutes::preempt),
  };
}

Async<http::Reply> NodeRoutes::list(Ask, NoQuery) {
  co_return http::Response::json_text(CO_TRY(co_await controller_.answer<std::string>(
      [this](const LogWriter& writer) { return nodes_text(writer, host_.info()); })));
}

Async<http::Reply> NodeRoutes::preempt(Ask ask, PreemptQuery query) {
  Preemption preemption;
  preemption.node = NodeId(ask.request.param("name"));
  preemption.notice = query.notice;
  preemption.away = query.away;
  CO_TRY(co_await host_.preempt(preemption));
  Value out = Value::object();
  out.set("away_ms", Value::integer(preemption.away.millis()));
  out.set("node", Value::text(preemption.node.str()));
  out.set("notice_ms", Value::integer(preemption.notice.millis()));
  co_return http::Response::json(out, 202);
}

}  // namespace runnel::control
