#pragma once

#include <string>
#include <vector>

#include "agent/preparer.h"
#include "base/ids.h"

namespace runnel::agent {

// Tasks of one step that wait for the same before they can begin, or be told to have ended.
struct SlowStart {
  JobId job;
  StepIndex step;
  std::string reason;    // "Preparing" or "Flushing".
  std::string sentence;  // "task 3 waits since 2026-11-22T10:00:00.000Z for volume data@01 of ..."
  std::string remedy;    // What becomes of them.
};

// In the order of their jobs and steps.
std::vector<SlowStart> slow_starts(const std::vector<Preparer::Waiting>& waiting);

}  // namespace runnel::agent
