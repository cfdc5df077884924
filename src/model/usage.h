#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/units.h"

namespace runnel::model {

// What the processes of one attempt on this machine use.
struct TaskUsage {
  std::string step;  // Its name.
  TaskIndex task;
  AttemptNumber attempt;
  std::int64_t processes = 0;
  std::int64_t milli_cpus = 0;  // Thousandths of a core, over the moment that was watched.
  Bytes memory;                 // Resident; pages that several share are counted for each.
  // Thousandths of one GPU's time, and its memory; nothing where no GPU can be asked.
  std::optional<std::int64_t> milli_gpus;
  std::optional<Bytes> gpu_memory;
  friend bool operator==(const TaskUsage&, const TaskUsage&) = default;
};

}  // namespace runnel::model
