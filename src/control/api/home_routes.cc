#include "control/api/home_routes.h"

#include <utility>

#include "json/value.h"

namespace runnel::control {
namespace {

using json::Value;

Value texts(const std::vector<std::string>& lines) {
  Value::List list;
  for (const std::string& line : lines) list.push_back(Value::text(line));
  return Value::list(std::move(list));
}

// Of jobs that have not ended: the agent may hear of an end later.
Value slow_starts(const std::vector<SlowStart>& starts, const brain::State& state) {
  Value::List list;
  for (const SlowStart& start : starts) {
    const auto job = state.jobs.find(start.job);
    if (job == state.jobs.end() || !may_begin(job->second.status)) continue;
    Value out = silence_document(start.silence);
    out.set("job", Value::text(start.job.str()));
    const auto position = static_cast<std::size_t>(start.step.value());
    out.set("step", Value::text(job->second.spec->steps.at(position).name));
    list.push_back(std::move(out));
  }
  return Value::list(std::move(list));
}

}  // namespace

std::vector<Route> HomeRoutes::table() {
  return {
      route(
          {.path = "/api/v1/home", .summary = "Paths and processes of this home", .answer = "Home"},
          *this, &HomeRoutes::get),
      route({.method = http::Method::kPost,
             .path = "/api/v1/home:stop",
             .summary = "End the daemon; attempts go on",
             .answer = "Stopping"},
            *this, &HomeRoutes::stop),
      route({.path = "/healthz", .summary = "Whether the process answers", .answer = "Health"},
            *this, &HomeRoutes::health),
      route({.path = "/readyz", .summary = "Whether requests can be accepted", .answer = "Health"},
            *this, &HomeRoutes::ready),
      route({.path = "/version", .summary = "The version of this build", .answer = "Version"},
            *this, &HomeRoutes::version),
  };
}

Async<http::Reply> HomeRoutes::get(Ask, NoQuery) {
  const HomeDisk::State disk = CO_TRY(co_await disk_.look());
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
  out.set("slow_starts", slow_starts(info.slow_starts, controller_.state()));
  out.set("socket", Value::text(info.socket));
  out.set("unfinished", Value::boolean(controller_.unfinished()));
  out.set("version", Value::text(info.version));
  co_return http::Response::json(out);
}

Async<http::Reply> HomeRoutes::stop(Ask, NoQuery) {
  host_.stop();
  Value out = Value::object();
  out.set("stopping", Value::boolean(true));
  co_return http::Response::json(out, 202);
}

Async<http::Reply> HomeRoutes::health(Ask, NoQuery) {
  co_return http::Response::json_text("{\"status\":\"ok\"}");
}

Async<http::Reply> HomeRoutes::ready(Ask, NoQuery) {
  if (controller_.writer().healthy()) co_return http::Response::json_text("{\"status\":\"ready\"}");
  co_return Error(Errc::kUnavailable, "the event log takes nothing at the moment")
      .with_hint("see whether the disk of the home is full; work goes on by itself then");
}

Async<http::Reply> HomeRoutes::version(Ask, NoQuery) {
  Value out = Value::object();
  out.set("api", Value::text("v1"));
  out.set("version", Value::text(host_.info().version));
  co_return http::Response::json(out);
}

}  // namespace runnel::control
