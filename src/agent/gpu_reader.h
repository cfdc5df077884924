#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace runnel::agent {

// What one process uses of this machine's GPUs, all of them taken together.
struct GpuUse {
  std::int64_t percent = 0;  // Of the time of one GPU: 200 are two that never rest.
  Bytes memory;
  friend bool operator==(const GpuUse&, const GpuUse&) = default;
};
using GpuSample = std::map<pid_t, GpuUse>;

// The processes in the table that `nvidia-smi pmon -s um -c 1` prints. Columns are found by their
// names, since drivers add some; what a driver does not count, and prints as "-", is 0. kInvalid
// when it is no such table.
Result<GpuSample> parse_gpu_table(std::string_view text);

// Asks nvidia-smi, which takes about a second where there are GPUs.
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

  // `now`: by the clock since boot.
  std::optional<GpuSample> sample(Duration now);

 private:
  std::optional<GpuSample> last_;
  std::optional<Duration> ask_again_;
};

}  // namespace runnel::agent
