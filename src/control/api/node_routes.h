#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/host.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"

namespace runnel::control {

// Lists nodes, and takes one away for a while.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class NodeRoutes {
 public:
  NodeRoutes(Controller& controller, const ApiHost& host) : controller_(controller), host_(host) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> list(Ask ask, NoQuery query);
  Async<http::Reply> preempt(Ask ask, PreemptQuery query);

  Controller& controller_;
  const ApiHost& host_;
};

}  // namespace runnel::control
