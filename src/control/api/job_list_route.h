#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"

namespace runnel::control {

// Lists jobs, recent and archived ones as one.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class JobListRoute {
 public:
  explicit JobListRoute(Controller& controller) : controller_(controller) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> list(Ask ask, JobListQuery query);

  Controller& controller_;
};

}  // namespace runnel::control
