#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/unique_fd.h"
#include "base/units.h"

namespace runnel::runner {

// Questions to /proc about processes. A process that is gone answers "nothing", never an error.

// The children of this process, zombies included, as the kernel lists them.
//
// Contract: cheap (1 us): the file stays open. Falls back to reading all of /proc where the kernel
//           has no such list.
// Threads:  the thread that made it, which must be the main thread of the runner.
class ChildList {
 public:
  ChildList();
  std::vector<pid_t> read() const;

 private:
  async::UniqueFd file_;
};

std::vector<pid_t> children_of(pid_t pid);
// All below `pid`, nearest first, without `pid` itself.
std::vector<pid_t> descendants_of(pid_t pid);
// Every process of the machine that we may see.
std::vector<pid_t> all_processes();

// The value of a variable in the environment the process was started with; "" when it has none.
// Nothing while that cannot be told: in the middle of an exec, when it has given up one environment
// and shows none yet, and always of a program that we may not look into.
std::optional<std::string> environment_value(pid_t pid, std::string_view name);
// The values of several, "" for each that it does not have or does not show.
std::vector<std::string> environment_values(pid_t pid, const std::vector<std::string_view>& names);

// The user whose process it is now, root for one that nobody may look into; nothing when it is
// gone.
std::optional<uid_t> owner_of(pid_t pid);

struct ProcessStat {
  char state = '?';  // R S D Z T ...
  pid_t parent = 0;
  pid_t group = 0;
  Duration started;  // Since boot, in clock ticks of 10 ms.
  Duration cpu;      // Used so far, by all its threads; in clock ticks as well.
};
// False when there is no such process.
bool read_stat(pid_t pid, ProcessStat& stat);

// Resident memory: quick, counts shared pages in full.
Bytes resident_memory(pid_t pid);
// Proportional share of shared pages: exact and slow; falls back to resident_memory.
Bytes proportional_memory(pid_t pid);

// A random text that changes with each boot of the machine.
std::string boot_id();

// The words of a text: views into it, cut at white space.
std::vector<std::string_view> words_of(std::string_view text);

// A whole small file of /proc, /sys or ours; "" when it cannot be read.
std::string read_small_file(const std::string& path, std::size_t bytes_max = 1 << 20);

}  // namespace runnel::runner
