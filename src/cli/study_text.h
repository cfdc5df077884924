#pragma once

#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "json/value.h"

namespace runnel::cli {

// What a person reads of the answers about studies. A value that a trial does not have is "-".

// {"studies": [...]}: a row for each; only their ids with -o name.
std::string studies_table(const json::Value& answer, const Arguments& arguments);
// {"trials": [...], "importance": [...], "note": "..."}: a row for each up to --limit, then what
// matters, or that too few trials ended to say so, and the note, if there is one.
std::string trials_table(const json::Value& answer, const Arguments& arguments);
// The same as CSV (RFC 4180), or lines of tabs, all rows: trial, status, attempts, step, value_*,
// param_*. The study's "objectives" and "parameters" have their columns whatever came of its
// trials; `step` is the one that the values are of.
std::string trials_csv(const json::Value& answer, const Arguments& arguments);
// A best trial as a job's document has it, or {"best_so_far": the trial that leads}.
inline constexpr std::string_view kBestSoFar = "best_so_far";
std::string best_text(const json::Value& best, const Arguments& arguments);
// The answer to ask, report and tell.
std::string trial_text(const json::Value& trial, const Arguments& arguments);

}  // namespace runnel::cli
