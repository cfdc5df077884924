#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace runnel::agent {

// A device as this machine shows it.
struct SeenDevice {
  std::string id;    // Its own, for as long as it exists: NVML's UUID, or the path of its file.
  std::string name;  // "NVIDIA H100 80GB HBM3"; empty where only its file was seen.
  Bytes memory;
  std::int64_t index = 0;  // As its driver counts.
  bool mig = false;        // It is cut into instances, which are not granted.
  std::string fault;       // Why it cannot be used: "GPU is lost". Then the id may be unknown.
  friend bool operator==(const SeenDevice&, const SeenDevice&) = default;
};

// What one process has of one device.
struct DeviceProcess {
  std::int64_t pid = 0;
  std::int64_t percent = 0;  // Its share of the device's time in the last second.
  Bytes memory;
  friend bool operator==(const DeviceProcess&, const DeviceProcess&) = default;
};

// One look at all of them.
struct DeviceLook {
  enum class By : std::uint8_t { kNvml, kFiles };
  By by = By::kNvml;
  std::vector<SeenDevice> devices;
  std::string problem;  // Why the driver said nothing; then nothing is known of any device.
  std::vector<DeviceProcess> processes;  // Only where they were asked for; only NVML knows.
  friend bool operator==(const DeviceLook&, const DeviceLook&) = default;
};

// NVIDIA's devices, as NVML tells them; where there is no NVML, the character devices nvidia0,
// nvidia1, ... in `dev`.
//
// Why: it loads a driver's library, which may hang or crash, so it is the work of a process of its
//      own: look_in_process().
enum class Processes : std::uint8_t { kNo, kYes };
DeviceLook look_at_devices(Processes processes, const std::string& dev = "/dev");

// Behind a command that prints a look: with its processes.
inline constexpr std::string_view kWithProcesses = "--processes";

std::string look_text(const DeviceLook& look);
Result<DeviceLook> parse_look(std::string_view text);

// Runs `command`, which prints a look's text. kTimeout where the driver hangs: the process that
// asked it is left alone when it cannot be killed. kUnavailable with what the driver said instead
// of an answer. Blocks for `patience` at most. Threads: any.
Result<DeviceLook> look_in_process(const std::vector<std::string>& command, Duration patience);

}  // namespace runnel::agent
