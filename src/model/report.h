#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/refs.h"

namespace runnel::model {

// Why a rank's process ended, as far as its runner knows.
enum class EndCause : std::uint8_t {
  kExited,       // By itself: see code and signal.
  kStopped,      // After our stop order (TERM, grace, KILL).
  kTimeout,      // max_duration was over.
  kOutOfMemory,  // Over its memory limit.
  kNotStarted,   // Never ran: the order was withdrawn, or exec failed (see message).
  kPortBusy,     // Never ran: the gang's port was taken.
  kVanished,     // The runner that had it is gone and left no exit record.
  kRunnerLost,   // The same, and the runner died while it ran, on a machine that did not restart.
};

// What a node observed about one rank of one attempt.
//
// Contract: a report is idempotent; the same fact may arrive any number of times, in any order
//           after later facts. `ended` is final: code/signal of a rank never change.
struct RankReport {
  AttemptRef attempt;
  std::int32_t rank = 0;
  bool ended = false;       // false: it runs.
  Time started_at;          // Zero when it never ran.
  Time ended_at;            // Zero while it runs.
  std::int32_t code = 0;    // Exit code, or 0 when a signal ended it.
  std::int32_t signal = 0;  // The signal that ended it, or 0.
  EndCause cause = EndCause::kExited;
  std::string message;       // A sentence when there is more to say ("python: command not found").
  VolumeVersions published;  // Before it began: StartOrder::merge.

  friend bool operator==(const RankReport&, const RankReport&) = default;
};

// What an attempt reported of its training, as far as a search needs it.
//
// Contract: as a rank's report: the same one may arrive again. The last one of an attempt arrives
//           with the end of its rank 0, or before.
struct MetricReport {
  AttemptRef attempt;
  std::int64_t step = 0;
  // Ascending by name; decimal text, or nan, inf, -inf.
  std::vector<std::pair<std::string, std::string>> values;
  bool last = false;
  std::int64_t bad_lines = 0;  // `last`: of its metrics file, that could not be read as metrics.
  friend bool operator==(const MetricReport&, const MetricReport&) = default;
};
inline constexpr std::size_t kMetricsMax = 1'000;  // In one report.

std::string_view to_string(EndCause cause);
Result<EndCause> parse_end_cause(std::string_view word);

// The ranks that the crash which ended a runner's life before took from one of its nodes.
struct LostRanks {
  NodeId node;
  std::vector<RankReport> ranks;
  friend bool operator==(const LostRanks&, const LostRanks&) = default;
};

}  // namespace runnel::model
