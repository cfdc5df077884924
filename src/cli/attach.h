#pragma once

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/chaos.h"
#include "cli/job_end.h"
#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

struct Attached {
  Output output = Output::kHuman;
  EndStyle end = EndStyle::kWhole;
  bool quiet = false;      // Nothing is said of how the job begins and ends.
  Chaos* chaos = nullptr;  // Kills something of the job meanwhile.
};

// Follows a job, given by its document, until it ends: output goes to stdout and stderr as the
// tasks wrote it, progress to a terminal. A daemon that dies meanwhile is started again and the job
// goes on. Ctrl-C halts the job (exit 130), twice cancels it. Returns the exit code of the job; 101
// when another has halted it.
Result<int> attach(Session& session, const json::Value& job, const Attached& how);

}  // namespace runnel::cli
