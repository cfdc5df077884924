#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace runnel::agent {

// A runner that should have answered by now, and did not.
struct RunnerSilence {
  std::int64_t pid = 0;  // 0: it was never reached.
  Time since;
  std::string stranger = {};  // The name of that process where it is no runner, and keeps one away.
  bool is_folder = false;     // Is where the runner's socket belongs.
};

// "the runner (process 12) has not answered since 2026-11-22T10:00:00.000Z"
std::string sentence(const RunnerSilence& silence);

// The remedy, by what the process is doing now and which of `mounts` (mounted_places()) lie below
// the home, where a dead one holds it up.
std::string remedy(const RunnerSilence& silence, const std::string& home,
                   const std::vector<std::string>& mounts);

}  // namespace runnel::agent
