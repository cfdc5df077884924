#pragma once

#include <string>

#include "base/result.h"
#include "cli/session.h"

namespace runnel::cli {

// Follows a job until it ends: output goes to stdout and stderr as the tasks wrote it, progress to
// a terminal. A daemon that dies meanwhile is started again and the job goes on. Ctrl-C halts the
// job (exit 130), twice cancels it. Returns the exit code of the job.
Result<int> attach(Session& session, const std::string& job);

}  // namespace runnel::cli
