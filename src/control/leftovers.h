#pragma once

#include <vector>

#include "async/async.h"
#include "base/ids.h"
#include "control/controller.h"

namespace runnel::control {

// Of the jobs whose files a node has, those that neither the state nor the archive knows: they were
// deleted, and the order to remove their files was lost with a process or a connection.
//
// Contract: names that are no ids of jobs are never among them, nor are jobs from before this log
//           began: another log may know those. The controller outlives the call.
Async<std::vector<JobId>> leftovers(Controller* control, std::vector<JobId> on_node);

}  // namespace runnel::control
