#pragma once

#include <string>

#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

// A line about a search that has succeeded: "5 of 6 trials of search failed: MetricNotFinite", or,
// where they differ, "...: mostly MetricNotFinite (3)"; empty when none has failed. `tasks`: rows
// of its tasks.
std::string failed_trials_line(const json::Value& step, const json::Value::List& tasks);
// The same, with the tasks asked of the daemon: at most kTasksRead, which tell the reason.
std::string failed_trials(Session& session, const std::string& job, const json::Value& step);
inline constexpr int kTasksRead = 1'000;

}  // namespace runnel::cli
