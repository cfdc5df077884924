#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// What a job's document says of its state.

bool has_ended(const json::Value& job);
// Ended, or halted: it does not go on by itself.
bool has_settled(const json::Value& job);
// Some task of it starts, runs or stores what it made.
bool is_active(const json::Value& job);
// Ended, and not well: there is something to run again.
bool can_be_retried(const json::Value& job);
// "train/3 ended with exit code 7 (NonZeroExit)", or "search/3 failed (MetricMissing)": the first
// task that failed; "" without one.
std::string first_failure(const json::Value& job);

// SkyPilot's exit codes of `logs --status` and `wait --status`.
inline constexpr int kStatusFailed = 100;
inline constexpr int kStatusNotFinished = 101;
inline constexpr int kStatusNotFound = 102;
inline constexpr int kStatusCancelled = 103;
int status_code(const json::Value& job);

// How long the job has run, or ran, "2 min 31 s"; empty while it has not started.
std::string elapsed_text(const json::Value& job);

}  // namespace runnel::cli
