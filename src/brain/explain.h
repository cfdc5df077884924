#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "brain/state.h"

namespace runnel::brain {

// Why one step is not running (or not running more), in one line, and what would change it.
struct Wait {
  StepIndex step;
  std::string reason;    // Slurm's words where they exist: Priority Resources Dependency BeginTime
                         // ReqNodeNotAvail JobHeldUser; ours: GangIncomplete.
  std::string message;   // "needs 4 H100, the largest node has 2": one sentence with the numbers.
  std::string remedy;    // The smallest change that would start it now; may be empty.
  std::int64_t position = 0;  // 1-based place in the queue of steps that want to start; 0: not queued.
  std::vector<JobId> blockers;  // Jobs that hold what it needs, or stand before it.
};

// One entry per unfinished step; empty when the job ended. kNotFound for an unknown job.
Result<std::vector<Wait>> explain(const State& state, const JobId& job, Time now);

}  // namespace runnel::brain
