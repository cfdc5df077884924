#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/refs.h"
#include "output/metric_plan.h"
#include "output/metrics_file.h"

namespace runnel::output {

// How far the sources of a task's metrics went when an attempt of it began: what earlier attempts
// had written is not this one's word. Output needs none, since the index tells attempts apart.
struct MetricsBegin {
  struct EventFile {
    std::string name;  // Below the folder of its step.
    std::int64_t size = 0;
    friend bool operator==(const EventFile&, const EventFile&) = default;
  };
  std::int64_t attempt = 0;
  std::int64_t file = 0;                // Bytes of the task's file,
  std::vector<std::uint8_t> file_tail;  // and the last of them.
  std::vector<EventFile> events;
  friend bool operator==(const MetricsBegin&, const MetricsBegin&) = default;
};

// How far they go now; `plan` may be null. Blocks, and for ever on a dead mount of the task's.
MetricsBegin look_at_metrics(const std::string& home, const model::AttemptRef& attempt,
                             const MetricPlanPtr& plan);
// Writes it into the job's folder, where whoever comes after this process finds it. Blocks.
Result<void> keep_metrics_begin(const std::string& home, const model::TaskRef& task,
                                const MetricsBegin& begin);
// The start of its own lines in the task's file.
MetricsFile::Mark file_mark(const MetricsBegin& begin);
// The record that was kept for the attempt; of a first one, or where none was kept, the beginning.
MetricsBegin metrics_begin_of(const std::string& home, const model::AttemptRef& attempt);

}  // namespace runnel::output
