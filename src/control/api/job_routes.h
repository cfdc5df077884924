#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"
#include "model/input.h"

namespace runnel::control {

// Submits jobs, shows one, acts on one.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class JobRoutes {
 public:
  JobRoutes(Controller& controller, KnownJobs& jobs) : controller_(controller), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> submit(Ask ask, JobFileQuery query);
  Async<http::Reply> get(Ask ask, JobQuery query);
  Async<http::Reply> remove(Ask ask, RemoveQuery query);
  Async<http::Reply> cancel(Ask ask, NoQuery query);
  Async<http::Reply> halt(Ask ask, NoQuery query);
  Async<http::Reply> resume(Ask ask, NoQuery query);
  Async<http::Reply> retry(Ask ask, NoQuery query);
  Async<http::Reply> call(Ask ask, model::JobRequest::Verb verb);

  Controller& controller_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
