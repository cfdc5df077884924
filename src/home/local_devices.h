#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "home/home.h"

namespace runnel::home {

using DeviceCounts = std::map<std::string, std::int64_t>;  // By kind, as accelerators are.

// For so long nobody looks again where the next look may find something else.
inline constexpr Duration kLookHolds = Duration::seconds(60);

// A look that told of no device which could be granted.
struct FailedLook {
  Time at;  // By the time of day.
  std::string why;

  // A clock that went back ends it, too.
  bool holds(Time now) const { return at <= now && now < at + kLookHolds; }
  friend bool operator==(const FailedLook&, const FailedLook&) = default;
};

struct MachineDevices {
  DeviceCounts counts;
  std::optional<FailedLook> failed_look;  // Then nothing is counted.
};

// The devices of this machine that a node may grant though nobody has declared it.
//
// Contract: asked of the driver in another process. What it counts is kept in the home for this
//           boot of the machine and what `dev` shows: a container has the boot of its host and
//           other devices. A failed look is kept while it holds, so that nobody else waits for a
//           driver that hangs. As long is kept what may change within a boot: that there is no
//           driver, that it counts nothing, or one device less for a fault.
//           None where a shell sets CUDA_VISIBLE_DEVICES: what is left of them has other indices
//           than the driver's. Where its order is not the one by which devices are granted
//           (model/device_variables.h), the look has failed. Blocks for
//           agent::DeviceWatch::kAnswersWithin at most.
//           `command` prints a look (agent/device_look.h); empty: nobody is asked.
MachineDevices local_devices(const Home& home, const std::vector<std::string>& command,
                             const std::string& dev = "/dev");

// What looks: this program, as `runnel devices`.
Result<std::vector<std::string>> device_command(const Home& home);

}  // namespace runnel::home
