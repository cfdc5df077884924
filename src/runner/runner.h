#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"

namespace runnel::runner {

struct RunnerOptions {
  std::string home;
  // Without an agent and with nothing that runs, the runner ends after ...
  Duration idle_max = Duration::seconds(10);
  // ... or after this when it holds exit records: they stay in its journal.
  Duration idle_with_records_max = Duration::seconds(60);
  Duration recovery_grace = Duration::seconds(2);
};

// As ps shows it.
inline constexpr const char* kRunnerProcessName = "runnel-runner";

// The files of a home's runner.
std::string runner_folder(const std::string& home);
std::string runner_socket(const std::string& home);
std::string runner_pid_file(const std::string& home);
std::string runner_log_file(const std::string& home);

// Whether the home has a runner, by the locks that it holds while it lives. One that begins just
// then may take us for another runner, and end: not to be asked while one is being started.
bool runner_lives(const std::string& home);
// Its process; 0 when there is none, or the kernel does not tell. Costs as env::lock_holder().
std::int64_t living_runner(const std::string& home);

// The runner: one process per home that starts attempts, keeps their exit records and outlives the
// daemon. Returns the exit code of the process: 0 at its end or when another runner serves the
// home.
//
// Contract: takes over the process: signals, descriptors above 2, the child subreaper attribute.
//           Its standard error is its log.
// Threads:  one; it must be the only thread of the process.
int runner_main(const RunnerOptions& options);

}  // namespace runnel::runner
