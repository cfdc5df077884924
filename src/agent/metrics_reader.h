#pragma once

#include <string>

#include "base/result.h"
#include "model/metrics.h"

namespace runnel::agent {

// One page of what tasks of a job reported, from their files. A job without any is an empty page.
// Threads: any.
Result<model::MetricPage> read_metrics(const std::string& home, const model::MetricFilter& filter);

}  // namespace runnel::agent
