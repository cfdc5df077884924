#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace runnel::runner {

// All that a new process is made of. Descriptors and texts are borrowed until spawn() returns.
struct SpawnRequest {
  std::string file;  // As find_program() found it.
  const std::vector<std::string>* argv = nullptr;
  std::vector<char*> env;  // "NAME=value" each; null ends it.
  const char* workdir = "/";
  int input = -1;  // Become descriptors 0, 1 and 2.
  int output = -1;
  int error = -1;
  const rlimit* open_files = nullptr;  // RLIMIT_NOFILE of the process; null: as the caller's.
  int memory_group = -1;               // cgroup.procs to enter before exec, or -1.
  std::optional<mode_t> file_mask;     // umask of the process; none: as the caller's.
};

// The outcome: a process, or the reason why there is none, in the shell's exit codes.
struct SpawnOutcome {
  pid_t pid = -1;  // -1: no process; then code and message are set, or `try_again`.
  int code = 0;    // 127: not found; 126: found and not executable, or no such workdir.
  std::string message;
  bool try_again = false;  // Too many processes or no memory right now.
};

// Starts a process by vfork and exec: no copy of page tables and no loop over signal handlers, a
// quarter faster than posix_spawn.
//
// Contract: everything is prepared before the vfork; the child makes system calls only. It leads a
//           new process group, has an empty signal mask and default handlers. All other descriptors
//           of the caller must be close-on-exec.
// Why:      not a new session: on a busy machine the kernel's autogroups, one per session, made a
//           stream of short processes eight times slower.
// Threads:  the caller's process must have one thread.
SpawnOutcome spawn(const SpawnRequest& request);

// The file that `name` means: with a slash itself, else the first executable of that name on the
// PATH; relative entries count from `workdir`.
struct FoundProgram {
  std::string file;  // Empty: not found.
  int code = 0;      // 127 not found, 126 found but not executable.
  std::string message;
};
FoundProgram find_program(const std::string& name, const std::string& search_path,
                          const std::string& workdir);

}  // namespace runnel::runner
