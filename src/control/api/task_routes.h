#pragma once

#include <string>
#include <vector>

#include "async/async.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"
#include "model/refs.h"

namespace runnel::control {

// Lists the tasks of a job, and tells one with its attempts.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class TaskRoutes {
 public:
  TaskRoutes(Controller& controller, KnownJobs& jobs) : controller_(controller), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> list(Ask ask, TaskListQuery wanted);
  Async<http::Reply> get(Ask ask, NoQuery query);
  Async<std::string> history_of(model::TaskRef task, EventSeq first, EventSeq last);

  Controller& controller_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
