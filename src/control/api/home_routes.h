#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/home_disk.h"
#include "control/api/host.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"

namespace runnel::control {

// Tells of the home and its daemon, and ends that. Rests on memory alone, but for the room of the
// disk.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class HomeRoutes {
 public:
  HomeRoutes(Controller& controller, const ApiHost& host, const HomeDisk& disk)
      : controller_(controller), host_(host), disk_(disk) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> get(Ask ask, NoQuery query);
  Async<http::Reply> stop(Ask ask, NoQuery query);
  Async<http::Reply> health(Ask ask, NoQuery query);
  Async<http::Reply> ready(Ask ask, NoQuery query);
  Async<http::Reply> version(Ask ask, NoQuery query);

  Controller& controller_;
  const ApiHost& host_;
  const HomeDisk& disk_;
};

}  // namespace runnel::control
