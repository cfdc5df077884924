#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "json/value.h"

namespace runnel::cli {

// Why a job that somebody watches does not run, each reason of a step told once: a step that tries
// again every minute is no news every minute. That another step comes first, or that all that can
// run does, is no reason at all; one that is gone at the next look was none.
class Waits {
 public:
  // Only what is wrong with the home itself is reported of a job of which something runs.
  enum class Job : std::uint8_t { kWaits, kRuns };

  // What a job's explanation tells for the second time in a row and was not told before, as lines.
  std::vector<std::string> news(const json::Value& explanation, Job job);

 private:
  // "step reason": steps times a dozen reasons.
  std::set<std::string> seen_;  // At the look before.
  std::set<std::string> told_;
};

}  // namespace runnel::cli
