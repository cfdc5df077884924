#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::env {

// The part of the machine that this process may use: the hardware, cut by affinity and cgroup
// limits.
struct MachineCapacity {
  std::int64_t milli_cpus = 0;  // Thousandths of a core.
  Bytes memory;
};

// `root` is "/" but in tests, which lay out proc and sys files below a folder of their own.
Result<MachineCapacity> machine_capacity(const std::string& root = "/");

// Changes with each boot: what ran under another boot id runs no more.
Result<std::string> boot_id();

// The number of the PID namespace that this process is in: a pid means a process only together with
// it. Unique on a machine for as long as a process is in the namespace.
Result<std::int64_t> pid_namespace();

Result<std::string> hostname();

}  // namespace runnel::env
