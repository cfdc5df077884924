#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace runnel::model {

// What a job, step, task or attempt is doing. One enum serves all levels; which values a level may
// have and which changes it may make is the table behind `allowed()`.
enum class Status : std::uint8_t {
  kQueued,
  kAdmitted,  // Quota reserved.
  kStarting,  // Placed: bound to a lane, its process is not known to run yet.
  kRunning,
  kCompleting,  // Outputs being stored.
  kPaused,      // Halted by its user; resume goes on.
  kRecovering,  // Lost its attempt; waits for its back-off or for room.
  kSucceeded,
  kFailed,
  kCancelled,
  kSkipped,  // A dependency failed.
  kPruned,   // A search stopped it.
  kTimeout,
  kOutOfMemory,
  kNodeFail,   // Attempts only: its node or runner is gone.
  kPreempted,  // Attempts only.
};
inline constexpr int kStatusCount = 16;

enum class Level : std::uint8_t { kJob, kStep, kTask, kAttempt };

// "QUEUED", "OUT_OF_MEMORY": the word in every table, document and event.
std::string_view to_string(Status status);
Result<Status> parse_status(std::string_view word);

// An attempt's end state is never left. A job, step or task leaves one only by an explicit retry.
bool is_end(Status status);
// May something at `level` go from one status to another by itself, or by a user's request?
bool allowed(Level level, Status from, Status to);
// May an explicit `retry` reopen something in this status?
bool reopenable(Level level, Status from);

// The party that pays for a failure.
enum class Fault : std::uint8_t { kNone, kUser, kPlatform, kUnknown };
std::string_view to_string(Fault fault);
Result<Fault> parse_fault(std::string_view word);

}  // namespace runnel::model
