#pragma once

#include <vector>

#include "async/async.h"
#include "base/ids.h"
#include "control/controller.h"
#include "store/event_log.h"

namespace runnel::control {

struct Leftovers {
  std::vector<JobId> deleted;
  std::vector<JobId> unknown;
};

// The jobs whose files a node has and that neither the state nor the archive knows, apart by
// whether a durable record says that they were deleted. Only then may their files be removed: the
// order to do so was lost with a process or a connection. A log that was repaired, cut, or replaced
// by an older or another one cannot say.
//
// Contract: names that are no ids of jobs are in neither list. The controller outlives the call.
Async<Leftovers> leftovers(Controller* control, std::vector<JobId> on_node);

// The same of a log that no control has open.
Result<Leftovers> leftovers_in(store::EventLog& log, const std::vector<JobId>& jobs);

}  // namespace runnel::control
