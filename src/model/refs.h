#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace runnel::model {

// A task is (job, step, index); an attempt adds its number. These are the keys of everything.
struct TaskRef {
  JobId job;
  StepIndex step;
  TaskIndex index;
  friend auto operator<=>(const TaskRef&, const TaskRef&) = default;
};

struct AttemptRef {
  TaskRef task;
  AttemptNumber attempt;
  friend auto operator<=>(const AttemptRef&, const AttemptRef&) = default;
};

struct RankRef {
  AttemptRef attempt;
  std::int32_t rank = 0;
  friend auto operator<=>(const RankRef&, const RankRef&) = default;
};

// "1h3f.../s0/t17/a2": for logs of ours and messages.
std::string to_string(const TaskRef& task);
std::string to_string(const AttemptRef& attempt);

// Whole ids of versions of volumes, by the names that the job has for these; ascending.
using VolumeVersions = std::vector<std::pair<std::string, std::string>>;

}  // namespace runnel::model
