#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/home_disk.h"
#include "control/api/host.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"

namespace runnel::control {

// Says why a job is not running.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class ExplainRoute {
 public:
  ExplainRoute(Controller& controller, KnownJobs& jobs, const ApiHost& host, const HomeDisk& disk)
      : controller_(controller), jobs_(jobs), host_(host), disk_(disk) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> explain(Ask ask, NoQuery query);

  Controller& controller_;
  KnownJobs& jobs_;
  const ApiHost& host_;
  const HomeDisk& disk_;
};

}  // namespace runnel::control
