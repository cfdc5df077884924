#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "model/metrics.h"

namespace runnel::agent {

inline constexpr std::size_t kMetricBytesMax = std::size_t{256} << 20;

// One page of what tasks of a job reported, wherever they did. A job without any is an empty page.
// A page on which more than kMetricBytesMax of output had to be looked at ends early. Threads: any.
Result<model::MetricPage> read_metrics(const std::string& home, const model::MetricFilter& filter);

}  // namespace runnel::agent
