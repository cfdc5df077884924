#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

// Devices that vanish while their node goes on: docs/design/devices.md.
namespace runnel::model {

// A device that its node has seen and sees no more.
struct MissingDevice {
  std::string kind;
  std::int64_t index = 0;
  std::string reason;  // What the node was told when it looked: "NVML: GPU is lost".
  Time since;          // By the node's wall clock.
  friend bool operator==(const MissingDevice&, const MissingDevice&) = default;
};

// What a look at a node's devices found.
//
// Contract: as a rank's report: the same one may arrive again. It is whole: what it does not name
//           is there.
struct DeviceReport {
  std::vector<MissingDevice> missing;  // Ascending by kind and index.
  friend bool operator==(const DeviceReport&, const DeviceReport&) = default;
};

// A device that is granted to nobody.
struct QuarantinedDevice {
  std::string kind;
  std::int64_t index = 0;
  std::string reason;
  Time since;
  Time again_at;  // It is back, and granted again from then on; zero: it is missing.
  friend bool operator==(const QuarantinedDevice&, const QuarantinedDevice&) = default;
};

}  // namespace runnel::model
