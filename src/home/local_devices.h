#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

using DeviceCounts = std::map<std::string, std::int64_t>;  // By kind, as accelerators are.

// The devices of this machine that a node may grant though nobody has declared it.
//
// Contract: asked of the driver in another process. What it counts is kept in the home for this
//           boot of the machine and what `dev` shows: a container has the boot of its host and
//           other devices. Asked again at the next call: where there is no driver, where it counts
//           nothing or one has a fault, since that may change within a boot.
//           None where a shell sets CUDA_VISIBLE_DEVICES: what is left of them has other indices
//           than the driver's. Where the driver has no answer, its error. Blocks for
//           agent::DeviceWatch::kAnswersWithin at most.
//           `command` prints a look (agent/device_look.h); empty: nobody is asked.
Result<DeviceCounts> local_devices(const Home& home, const std::vector<std::string>& command,
                                   const std::string& dev = "/dev");

// What looks: this program, as `runnel devices`.
Result<std::vector<std::string>> device_command(const Home& home);

}  // namespace runnel::home
