#include <map>
#include <utility>

#include "brain/places.h"
#include "control/api.h"
#include "control/api_schema.h"
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
  out.set("id", Value::text(node.info.id.str()));
  out.set("incarnation", Value::text(node.incarnation.str()));
  out.set("lanes", Value::integer(use.lanes));
  if (node.leaves_at != Time()) out.set("leaves_at", Value::text(rfc3339(node.leaves_at)));
  out.set("pool", Value::text(node.info.pool));
  if (!node.reason.empty()) out.set("reason", Value::text(node.reason));
  out.set("up", Value::boolean(node.up));
  out.set("used", resources_document(use.held));
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

Value texts(const std::vector<std::string>& lines) {
  Value::List list;
  for (const std::string& line : lines) list.push_back(Value::text(line));
  return Value::list(std::move(list));
}

// {"name": "id", "in": "path", ...} for each {name} of a path.
Value path_parameters(std::string_view path) {
  Value::List list;
  for (std::size_t open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1)) {
    const std::size_t close = path.find('}', open);
    CHECK(close != std::string_view::npos, "a route's parameter is not closed");
    Value schema = Value::object();
    schema.set("type", Value::text("string"));
    Value parameter = Value::object();
    parameter.set("in", Value::text("path"));
    parameter.set("name", Value::text(std::string(path.substr(open + 1, close - open - 1))));
    parameter.set("required", Value::boolean(true));
    parameter.set("schema", std::move(schema));
    list.push_back(std::move(parameter));
  }
  return Value::list(std::move(list));
}

// {"application/json": {"schema": {"$ref": ...}}}
Value content_of(std::string_view type, std::string_view shape) {
  Value reference = Value::object();
  reference.set("$ref", Value::text("#/components/schemas/" + std::string(shape)));
  Value media = Value::object();
  media.set("schema", std::move(reference));
  Value content = Value::object();
  content.set(std::string(type), std::move(media));
  return content;
}

Value responses_document(const Operation& operation) {
  Value success = Value::object();
  success.set("description", Value::text("The answer"));
  if (!operation.answer.empty()) {
    success.set("content", content_of("application/json", operation.answer));
  }
  Value failure = Value::object();
  failure.set("description", Value::text("A problem document (RFC 9457)"));
  failure.set("content", content_of("application/problem+json", "Problem"));
  Value out = Value::object();
  out.set("2XX", std::move(success));
  out.set("default", std::move(failure));
  return out;
}

std::string lower_case(std::string_view word) {
  std::string text(word);
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

void add_operation(Value& paths, const std::string& path, const Operation& operation) {
  Value document = Value::object();
  document.set("parameters", path_parameters(path));
  document.set("responses", responses_document(operation));
  if (!operation.body.empty()) {
    Value body = Value::object();
    body.set("content", content_of("application/json", operation.body));
    document.set("requestBody", std::move(body));
  }
  document.set("summary", Value::text(std::string(operation.summary)));
  const Value* known = paths.find(path);
  Value item = known != nullptr ? *known : Value::object();
  item.set(lower_case(http::to_string(operation.method)), std::move(document));
  paths.set(path, std::move(item));
}

}  // namespace

Value silence_document(const Silence& silence) {
  Value out = Value::object();
  out.set("message", Value::text(silence.message));
  out.set("remedy", Value::text(silence.remedy));
  return out;
}

Async<http::Reply> Api::list_nodes(http::Request request) {
  CO_TRY(known_only(request, {}));
  Result<std::string> text = co_await controller_.answer<std::string>(
      [this](const LogWriter& writer) { return nodes_text(writer, host_.info()); });
  co_return http::Response::json_text(CO_TRY(std::move(text)));
}

Async<http::Reply> Api::preempt_node(http::Request request) {
  CO_TRY(known_only(request, {"notice", "away"}));
  Preemption preemption;
  preemption.node = NodeId(request.param("name"));
  preemption.notice = CO_TRY(duration_of(request, "notice", kNoticeDefault));
  preemption.away = CO_TRY(duration_of(request, "away", kAwayDefault));
  Result<void> given = co_await host_.preempt(preemption);
  CO_TRY(std::move(given));
  Value out = Value::object();
  out.set("away_ms", Value::integer(preemption.away.millis()));
  out.set("node", Value::text(preemption.node.str()));
  out.set("notice_ms", Value::integer(preemption.notice.millis()));
  co_return http::Response::json(out, 202);
}

Async<http::Reply> Api::get_home(http::Request) {
  Result<DiskState> asked = co_await disk_state();
  const DiskState disk = CO_TRY(std::move(asked));
  const HomeInfo info = host_.info();
  Value out = Value::object();
  out.set("daemon_pid", Value::integer(info.daemon_pid));
  if (disk.full) out.set("disk_full", silence_document(*disk.full));
  if (disk.silent) out.set("disk_silence", silence_document(*disk.silent));
  out.set("epoch", Value::integer(controller_.writer().epoch().value()));
  out.set("home", Value::text(info.home));
  out.set("last_event", Value::integer(controller_.events().last().value()));
  if (info.nodes_problem) out.set("nodes_problem", silence_document(*info.nodes_problem));
  out.set("notices", texts(info.notices));
  // Not 0: who signals what stands here would signal their own process group.
  out.set("runner_pid", info.runner_pid > 0 ? Value::integer(info.runner_pid) : Value());
  if (info.runner_silence) out.set("runner_silence", silence_document(*info.runner_silence));
  out.set("socket", Value::text(info.socket));
  out.set("unfinished", Value::boolean(controller_.unfinished()));
  out.set("version", Value::text(info.version));
  co_return http::Response::json(out);
}

Async<http::Reply> Api::stop_home(http::Request) {
  host_.stop();
  Value out = Value::object();
  out.set("stopping", Value::boolean(true));
  co_return http::Response::json(out, 202);
}

Async<http::Reply> Api::health(http::Request) {
  co_return http::Response::json_text("{\"status\":\"ok\"}");
}

Async<http::Reply> Api::ready(http::Request) {
  if (controller_.writer().healthy()) co_return http::Response::json_text("{\"status\":\"ready\"}");
  co_return Error(Errc::kUnavailable, "the event log takes nothing at the moment")
      .with_hint("see whether the disk of the home is full; work goes on by itself then");
}

Async<http::Reply> Api::version(http::Request) {
  Value out = Value::object();
  out.set("api", Value::text("v1"));
  out.set("version", Value::text(host_.info().version));
  co_return http::Response::json(out);
}

Async<http::Reply> Api::openapi(http::Request) {
  Value paths = Value::object();
  for (const Route& route : routes()) {
    const std::string path(route.operation.path);
    add_operation(paths, "/api/v1" + path, route.operation);
    add_operation(paths, "/api/v1/projects/{project}" + path, route.operation);
  }
  for (const Route& route : service_routes()) {
    add_operation(paths, std::string(route.operation.path), route.operation);
  }
  Value components = Value::object();
  components.set("schemas", api_schemas());
  Value info = Value::object();
  info.set("title", Value::text("Runnel"));
  info.set("version", Value::text(host_.info().version));
  Value out = Value::object();
  out.set("components", std::move(components));
  out.set("info", std::move(info));
  out.set("openapi", Value::text("3.1.0"));
  out.set("paths", std::move(paths));
  co_return http::Response::json(out);
}

}  // namespace runnel::control
