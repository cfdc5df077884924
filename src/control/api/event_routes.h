#pragma once

#include <vector>

#include "async/async.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "control/event_hub.h"
#include "http/message.h"

namespace runnel::control {

// Lists what happened, and goes on as it happens.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class EventRoutes {
 public:
  EventRoutes(Controller& controller, KnownJobs& jobs) : controller_(controller), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> of_all(Ask ask, EventsQuery wanted);
  Async<http::Reply> of_job(Ask ask, EventsQuery wanted);
  Async<http::Reply> events(Ask ask, EventsQuery wanted, JobId job);
  Async<EventSeq> first_event_of(JobId job);
  Async<EventSeq> beginning();
  Async<void> watch(EventQuery query, bool until_end, StreamForm form, http::StreamWriter& out);

  Controller& controller_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
