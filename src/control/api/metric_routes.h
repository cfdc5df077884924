#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "control/log_source.h"
#include "http/message.h"

namespace runnel::control {

// Tells what the tasks of a job reported, and what they use.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class MetricRoutes {
 public:
  MetricRoutes(Controller& controller, LogSource& logs, KnownJobs& jobs)
      : controller_(controller), logs_(logs), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> metrics(Ask ask, MetricsQuery wanted);
  Async<http::Reply> usage(Ask ask, NoQuery query);

  Controller& controller_;
  LogSource& logs_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
