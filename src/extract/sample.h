#pragma once

#include <string>
#include <vector>

#include "model/metrics.h"

namespace runnel::extract {

using model::MetricSample;

// Adds the sample to those before it. What was said of one step in a row is one sample, as long as
// no metric is said twice.
void append_sample(std::vector<MetricSample>& samples, MetricSample sample);

}  // namespace runnel::extract
