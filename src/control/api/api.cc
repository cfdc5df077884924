#include "control/api/api.h"

#include <iterator>
#include <utility>

#include "base/append.h"
#include "base/check.h"

namespace runnel::control {
namespace {

constexpr const char* kRoot = "/api/v1";
constexpr const char* kInProject = "/api/v1/projects/{project}";

}  // namespace

Api::Api(async::EventLoop& loop, Controller& controller, LogSource& logs, ApiHost host,
         Duration disk_patience)
    : host_(std::move(host)),
      disk_(controller, host_, disk_patience),
      patience_(loop, controller, host_, disk_),
      known_(controller, logs),
      jobs_(controller, known_),
      job_list_(controller),
      explain_(controller, known_, host_, disk_),
      tasks_(controller, known_),
      events_(controller, known_),
      logs_(loop, controller, logs, known_),
      metrics_(controller, logs, known_),
      trials_(controller, known_),
      nodes_(controller, host_),
      home_(controller, host_, disk_) {
  append_all(of_projects_, jobs_.table());
  append_all(of_projects_, job_list_.table());
  append_all(of_projects_, explain_.table());
  append_all(of_projects_, tasks_.table());
  append_all(of_projects_, events_.table());
  append_all(of_projects_, logs_.table());
  append_all(of_projects_, metrics_.table());
  append_all(of_projects_, trials_.table());
  append_all(of_projects_, nodes_.table());
  append_all(of_service_, home_.table());
  of_service_.push_back(route(
      {.path = "/openapi.json", .summary = "This API as an OpenAPI document", .answer = "OpenApi"},
      *this, &Api::openapi));
}

void Api::add(http::Router& router, const std::string& path, const Route& route, Rests rests) {
  CHECK(route.handle != nullptr, "an operation without a handler");
  CHECK(path.starts_with('/'), "a path begins with a slash");
  openapi_.add(path, route);
  router.add(route.operation.method, path,
             [this, handle = &route.handle, rests](http::Request request) {
               Result<model::Principal> principal = principal_of(request, host_.account);
               if (!principal.ok()) return refused(std::move(principal).error());
               Ask ask{*std::move(principal), std::move(request)};
               if (rests == Rests::kOnMemory) return (*handle)(std::move(ask));
               return patience_.wait_for(handle, std::move(ask));
             });
}

void Api::add_routes(http::Router& router) {
  for (const Route& route : of_projects_) {
    const std::string path(route.operation.path);
    add(router, kRoot + path, route, Rests::kOnDisk);
    add(router, kInProject + path, route, Rests::kOnDisk);
  }
  for (const Route& route : of_service_) {
    add(router, std::string(route.operation.path), route, Rests::kOnMemory);
  }
}

Async<http::Reply> Api::openapi(Ask, NoQuery) {
  co_return http::Response::json(openapi_.document(host_.info().version));
}

}  // namespace runnel::control
