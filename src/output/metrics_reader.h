#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/metrics.h"

namespace runnel::output {

inline constexpr std::size_t kMetricBytesMax = std::size_t{32} << 20;
inline constexpr std::size_t kMetricPageBytesMax = std::size_t{4} << 20;

// One page of what tasks of a job reported, wherever they did. A job without any is an empty page.
// A page ends early behind the task with which more than kMetricBytesMax were looked at, or more
// than kMetricPageBytesMax are held. Of one task's output or event files that are larger than the
// former the beginning is read, and of the last attempt's output the end. Threads: any.
Result<model::MetricPage> read_metrics(const std::string& home, const model::MetricFilter& filter);

}  // namespace runnel::output
