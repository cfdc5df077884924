#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace runnel::env {

// A variable of this process's environment; nothing when it is not set.
std::optional<std::string> variable(const std::string& name);

// The user whom this process works for: $USER, else the name of its user id, else that number.
std::string user_name();

// All of them, as "NAME=value".
std::vector<std::string> environment();

// Unsets the variables whose names begin with `prefix`, and overwrites their values where this
// process was started with them: every process of the user may read these in /proc/PID/environ.
// Of a variable that was set anew the older value stays there. No other thread may use the
// environment meanwhile.
void forget_variables(std::string_view prefix);

// The file this process was started from.
Result<std::string> executable_path();

struct DetachedProcess {
  std::vector<std::string> argv;         // argv[0] is the path of the file; PATH is not searched.
  std::vector<std::string> environment;  // "NAME=value"
  std::string directory = "/";
  std::string log_file;  // Standard output and error are added to it; it is made when missing.
};

// From here on the files and folders that this process makes are its owner's alone. Returns the
// file mode creation mask that the process was started with: spawn_detached() hands that one on.
unsigned keep_files_private();

// Starts a process that outlives this one: its own session, no terminal, no open file of ours, all
// signals at their defaults, and no child of ours, so that nobody needs to wait for it. Returns its
// pid once exec has succeeded.
Result<std::int64_t> spawn_detached(const DetachedProcess& process);

enum class ProcessState : std::uint8_t {
  kGone,     // It has ended, whether or not somebody waited.
  kRuns,     // Or sleeps, or waits for something that can be interrupted.
  kStopped,  // By a signal or a debugger.
  kWaitsForDisk,
};
ProcessState process_state(std::int64_t pid);

// Whether SIGKILL waits for a thread, as it does for those of a process that any signal ends: false
// of one that has ended, or that another user's /proc hides.
bool is_being_killed(std::int64_t thread);

// The process that a thread is of; 0 for one that has ended, or that another user's /proc hides.
std::int64_t process_of(std::int64_t thread);

// As ps shows it, at most 15 bytes; empty when it has ended.
std::string process_name(std::int64_t pid);

// Whether this process may do what it likes with anybody's files.
bool is_root();

// Whether a process of this number runs: false when it has ended, whether or not somebody waited.
bool process_runs(std::int64_t pid);

}  // namespace runnel::env
