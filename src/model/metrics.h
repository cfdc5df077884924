#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

// Tasks' metrics on their way from the machine that has them to those who read them.
namespace runnel::model {

// One report of a task.
struct MetricSample {
  std::int64_t step = 0;
  // Ascending by name; decimal text, or nan, inf, -inf.
  std::vector<std::pair<std::string, std::string>> values;
  std::int32_t rank = 0;  // The rank that reported it.
  friend bool operator==(const MetricSample&, const MetricSample&) = default;
};

inline constexpr std::int64_t kMetricSourceBytesMax = std::int64_t{8} << 20;

// The tasks whose metrics are wanted, in order of step and task, from `from` on.
struct MetricFilter {
  JobId job;
  std::optional<StepIndex> step;
  std::optional<TaskIndex> task;
  std::pair<StepIndex, TaskIndex> from;
  std::size_t series_max = 50;
  // Bytes that are looked at of each metrics file: of a larger one pieces, evenly, and its end.
  std::int64_t bytes_max = kMetricSourceBytesMax;
};

// The reports of one task over all its attempts.
struct MetricSeries {
  StepIndex step;
  TaskIndex task;
  // At most kSamplesMax, fairly shared and evenly spaced; of each kind the last one is kept.
  std::vector<MetricSample> samples;
  std::int64_t bad_lines = 0;    // Lines of its metrics file that are no metrics.
  std::int64_t bad_records = 0;  // Damaged records of its TensorBoard files.
  bool truncated = false;        // Only a part of a large source was looked at.
  Time reported_at;              // When its file was last written to.
};

struct MetricPage {
  std::vector<MetricSeries> series;
  std::optional<std::pair<StepIndex, TaskIndex>> next;  // The start of the following page.
};

inline constexpr std::size_t kSamplesMax = 1'000;

}  // namespace runnel::model
