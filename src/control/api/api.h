#pragma once

#include <string>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "control/api/event_routes.h"
#include "control/api/explain_route.h"
#include "control/api/home_disk.h"
#include "control/api/home_routes.h"
#include "control/api/host.h"
#include "control/api/job_list_route.h"
#include "control/api/job_routes.h"
#include "control/api/known_jobs.h"
#include "control/api/log_route.h"
#include "control/api/metric_routes.h"
#include "control/api/node_routes.h"
#include "control/api/openapi.h"
#include "control/api/patience.h"
#include "control/api/route.h"
#include "control/api/task_routes.h"
#include "control/api/trial_routes.h"
#include "control/controller.h"
#include "control/log_source.h"
#include "http/message.h"
#include "http/router.h"

namespace runnel::control {

// The HTTP API of a Controller: the routes of each resource, below /api/v1 and again below
// /api/v1/projects/{project}.
//
// Contract: add_routes() registers everything once. Answers leave when all they rest on is durable;
//           errors become problem documents. A list costs as much as its page. What may rest on the
//           home's disk is waited for with Patience.
// Threads:  the loop's only.
// Lifetime: controller, logs and host outlive it. stop() is awaited after the server that has these
//           routes was stopped, and before the controller is.
class Api {
 public:
  static constexpr Duration kDiskPatience = Duration::seconds(4);

  Api(async::EventLoop& loop, Controller& controller, LogSource& logs, ApiHost host,
      Duration disk_patience = kDiskPatience);

  void add_routes(http::Router& router);
  Async<void> stop() { return patience_.stop(); }

 private:
  // Whether a route may have to wait for the home's disk.
  enum class Rests : std::uint8_t { kOnMemory, kOnDisk };
  void add(http::Router& router, const std::string& path, const Route& route, Rests rests);
  Async<http::Reply> openapi(Ask ask, NoQuery query);

  const ApiHost host_;
  HomeDisk disk_;
  Patience patience_;
  KnownJobs known_;
  JobRoutes jobs_;
  JobListRoute job_list_;
  ExplainRoute explain_;
  TaskRoutes tasks_;
  EventRoutes events_;
  LogRoute logs_;
  MetricRoutes metrics_;
  TrialRoutes trials_;
  NodeRoutes nodes_;
  HomeRoutes home_;
  std::vector<Route> of_projects_;
  std::vector<Route> of_service_;
  OpenApi openapi_;
};

}  // namespace runnel::control
