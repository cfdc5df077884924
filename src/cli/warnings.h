#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "json/value.h"

namespace runnel::cli {

// Ranks that ailed, each told once to whoever watches the job.
class Warnings {
 public:
  // What the job's document tells and was not told before, as lines. Of a step that has had more
  // than its document holds meanwhile, the newest.
  std::vector<std::string> news(const json::Value& job);

 private:
  std::map<std::string, std::int64_t> told_;  // How many, by step.
};

}  // namespace runnel::cli
