#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "brain/state.h"
#include "model/metrics.h"

namespace runnel::control {

// What live tasks reported last, read from where they report.
using LiveMetrics = std::map<std::pair<StepIndex, TaskIndex>, model::MetricSeries>;

// The first kLiveShownMax tasks of a job that run, in the order of steps and tasks: those whose
// metrics are told and whose `progress` is known.
std::vector<std::pair<StepIndex, TaskIndex>> live_tasks(const brain::Job& job);
inline constexpr std::size_t kLiveShownMax = 16;

// How far a job is: per step its share done, the seconds that are left where that can be told, and
// the last metrics of those that run. A task tells its share by the metric `progress` (0 to 1),
// a trial by the step of its last judged report where there is a max_step. The job's seconds are
// given once all of its unfinished steps run.
std::string progress_document(const brain::Job& job, const LiveMetrics& metrics, Time now);

}  // namespace runnel::control
