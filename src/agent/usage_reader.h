#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "agent/gpu_sampler.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/usage.h"

namespace runnel::agent {

// The processes of a job's attempts at one moment, as /proc has them: found by the environment that
// they were started with, so whoever has thrown that away is not counted.
struct UsageSample {
  struct Process {
    model::TaskUsage of;  // The attempt that it belongs to.
    Duration cpu;         // Since its start, in ticks of 10 ms.
    Bytes memory;
  };
  std::map<pid_t, Process> processes;
};

// Reads /proc. Threads: any.
UsageSample sample_usage(const JobId& job);

// The usage between two samples that lie `window` apart, by step, task and attempt. Processes that
// ended meanwhile are left out. `gpus`: nothing where no GPU can be asked.
std::vector<model::TaskUsage> usage_between(const UsageSample& before, const UsageSample& after,
                                            Duration window, const std::optional<GpuSample>& gpus);

}  // namespace runnel::agent
