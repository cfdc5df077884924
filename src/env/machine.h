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

Result<std::string> hostname();

}  // namespace runnel::env
