#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel::model {

// A regular expression whose named fields are metrics of the output of rank 0.
struct LogPattern {
  std::string group;          // Its metrics are group/field; empty: the field's name alone.
  std::string regex;          // RE2's, with macros as in `%{FLOAT:loss}`.
  std::int32_t lines = 1;     // How many lines it looks at together.
  std::string step = "step";  // The field that is the step.
  friend bool operator==(const LogPattern&, const LogPattern&) = default;
};

// The sources of a task's metrics besides $RUNNEL_METRICS_FILE.
struct MetricSources {
  std::vector<LogPattern> log;
  std::string tensorboard;  // A folder inside the task's folder; empty: none.
  bool empty() const { return log.empty() && tensorboard.empty(); }
  friend bool operator==(const MetricSources&, const MetricSources&) = default;
};

inline constexpr std::size_t kLogPatternsMax = 32;
inline constexpr std::size_t kLogPatternBytesMax = 4'096;
inline constexpr std::int32_t kLogPatternLinesMax = 16;

}  // namespace runnel::model
