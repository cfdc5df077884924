#pragma once

#include "volume_sim/oracle.h"
#include "volume_sim/process.h"

namespace runnel::volume_sim {

// What processes do with branches of their volume, as work.h has it.

// An attempt: writes files of a task, and publishes them now and then.
Async<void> write_branch(Process& process, Oracle& oracle);
// Merges the branches of all steps that are done.
Async<void> merge_done(Process& process, Oracle& oracle);
// Removes all, whoever writes them.
Async<void> remove_branches(Process& process, Oracle& oracle);

}  // namespace runnel::volume_sim
