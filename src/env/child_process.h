#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace runnel::env {

// A process that is given open files of this one, and that this one waits for.
struct ChildProcess {
  std::vector<std::string> argv;  // argv[0] is the path of the file; PATH is not searched.
  struct Given {
    int descriptor = -1;  // Of this process.
    int number = -1;      // Its number there.
  };
  std::vector<Given> given;  // Standard streams are handed on as they are.
};

// Starts it in a session of its own, so that no Ctrl-C reaches it, with all signals at their
// defaults and this process's environment. Returns its pid: whoever starts it waits for it by
// waitpid(). The descriptors may have any numbers here.
Result<std::int64_t> spawn_child(const ChildProcess& process);

}  // namespace runnel::env
