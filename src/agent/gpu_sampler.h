#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace runnel::agent {

// One process's use of this machine's GPUs, all of them taken together.
struct GpuUse {
  std::int64_t percent = 0;  // Share of one GPU's time: 200 are two that never rest.
  Bytes memory;
  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};
using GpuSample = std::map<pid_t, GpuUse>;

// Asks the driver who uses the GPUs, in another process (device_look.h).
//
// Contract: sample() is nothing where there are no GPUs, no driver, or no answer. Whoever asks
//           within kFresh of an answer gets the same one; a driver that hangs is left alone for
//           kLeftAlone, since each question could leave a process that nobody can kill.
// Threads:  blocking; one at a time.
class GpuSampler {
 public:
  static constexpr Duration kFresh = Duration::seconds(1);
  static constexpr Duration kAnswersWithin = Duration::seconds(3);
  static constexpr Duration kLeftAlone = Duration::seconds(60);

  // `command` prints a look at the devices; empty: nobody is asked.
  explicit GpuSampler(std::vector<std::string> command);

  // `now`: by the clock since boot.
  std::optional<GpuSample> sample(Duration now);

 private:
  const std::vector<std::string> command_;
  std::optional<GpuSample> last_;
  std::optional<Duration> ask_again_;
};

}  // namespace runnel::agent
