#pragma once

#include "agent/device_look.h"
#include "base/result.h"

namespace runnel::agent {

// NVIDIA's devices. kNotFound where the library is not installed, kUnavailable with its own words
// where it has no answer. Loads the library and lets go of it. Threads: one at a time.
Result<DeviceLook> look_by_nvml(Processes processes);

}  // namespace runnel::agent
