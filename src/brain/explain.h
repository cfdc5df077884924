#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "brain/index.h"
#include "brain/state.h"

namespace runnel::brain {

// Why one step is not running (or not running more), in one line, and what would change it.
struct Wait {
  StepIndex step;
  // Slurm's words where they exist: Dependency JobHeldUser BeginTime JobArrayTaskLimit
  // ReqNodeNotAvail Priority Resources; ours: GangIncomplete, and Running when nothing of it waits.
  std::string reason;
  std::string
      message;         // "needs a node with 4 H100, and the largest node has 2 H100": one sentence.
  std::string remedy;  // The smallest change that would start it now or sooner; may be empty.
  // 1-based place in the queue of steps that want to start; 0: not queued.
  std::int64_t position = 0;
  std::vector<JobId> blockers;  // Jobs that hold what it needs, or stand before it.
};

// One entry per unfinished step; empty when the job ended. kNotFound for an unknown job.
Result<std::vector<Wait>> explain(const State& state, const Index& index, const JobId& job,
                                  Time now);

}  // namespace runnel::brain
