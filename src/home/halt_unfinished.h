#pragma once

#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "home/home.h"

namespace runnel::home {

// Halts every job of the home's log that has not ended, and returns those that it halted. For a log
// that has lost its end: what the lost batches ended would begin again with the next daemon.
// Blocks; the home must be locked, and nothing is started.
Result<std::vector<JobId>> halt_unfinished(const Home& home);

}  // namespace runnel::home
