#include "model/status.h"

#include <array>

#include "base/check.h"
#include "model/detail/words.h"

namespace runnel::model {
namespace {

constexpr detail::Words<kStatusCount> kStatusWords = {
    "QUEUED",     "ADMITTED",      "STARTING",  "RUNNING",   "COMPLETING", "PAUSED",
    "RECOVERING", "SUCCEEDED",     "FAILED",    "CANCELLED", "SKIPPED",    "PRUNED",
    "TIMEOUT",    "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED"};

constexpr detail::Words<4> kFaultWords = {"none", "user", "platform", "unknown"};

// A set of statuses, one bit each.
using Set = std::uint32_t;

template <typename... Statuses>
constexpr Set set(Statuses... statuses) {
  return (Set{0} | ... | (Set{1} << static_cast<unsigned>(statuses)));
}

constexpr bool contains(Set statuses, Status status) { return (statuses & set(status)) != 0; }

using enum Status;

constexpr Set kEnds = set(kSucceeded, kFailed, kCancelled, kSkipped, kPruned, kTimeout,
                          kOutOfMemory, kNodeFail, kPreempted);
constexpr Set kJobEnds = set(kSucceeded, kFailed, kCancelled);
constexpr Set kStepEnds = kJobEnds | set(kSkipped);
// The ends of a task that was placed; one that was not can also be skipped.
constexpr Set kTaskEnds = kJobEnds | set(kPruned, kTimeout, kOutOfMemory);
constexpr Set kAttemptEnds = kJobEnds | set(kTimeout, kOutOfMemory, kNodeFail, kPreempted);

struct Row {
  Status from;
  Set to;
};

// Level by level: from each status, those that may follow. A status without a row is never left.
constexpr std::array kJobRows = {
    Row{kQueued, set(kRunning, kPaused) | kJobEnds},
    Row{kRunning, set(kPaused) | kJobEnds},
    // Failed: cancelled while it was held, after some of it had failed.
    Row{kPaused, set(kQueued, kFailed, kCancelled)},
};
constexpr std::array kStepRows = {
    Row{kQueued, set(kRunning, kPaused) | kStepEnds},
    Row{kRunning, set(kPaused) | kJobEnds},
    // Skipped: what it depends on failed while it was held. Failed: as a job.
    Row{kPaused, set(kQueued, kFailed, kCancelled, kSkipped)},
};
constexpr std::array kTaskRows = {
    // Pruned: a search that ended before it started, or that paused it and goes on without it.
    Row{kQueued, set(kAdmitted, kStarting, kPaused, kCancelled, kSkipped, kPruned)},
    Row{kAdmitted, set(kQueued, kStarting, kPaused, kCancelled, kSkipped)},
    // An attempt may end before anyone heard that it ran.
    Row{kStarting, set(kRunning, kQueued, kRecovering, kPaused) | kTaskEnds},
    // Back to QUEUED: it was asked back, or its node was wanted for something else.
    Row{kRunning, set(kCompleting, kQueued, kRecovering, kPaused) | kTaskEnds},
    Row{kCompleting, set(kQueued, kRecovering, kPaused) | kTaskEnds},
    // Pruned: of a search that may spend nothing more. Skipped: of one that was given up.
    Row{kRecovering, set(kStarting, kQueued, kPaused, kCancelled, kFailed, kPruned, kSkipped)},
    Row{kPaused, set(kQueued, kCancelled, kSkipped, kPruned)},
};
constexpr std::array kAttemptRows = {
    Row{kStarting, set(kRunning) | kAttemptEnds},
    Row{kRunning, set(kCompleting) | kAttemptEnds},
    Row{kCompleting, kAttemptEnds},
};

using Table = std::array<Set, kStatusCount>;

template <std::size_t N>
constexpr Table table_of(const std::array<Row, N>& rows) {
  Table table{};
  for (const Row& row : rows) table[static_cast<std::size_t>(row.from)] = row.to;
  return table;
}

// Indexed by Level.
constexpr std::array<Table, 4> kNext = {table_of(kJobRows), table_of(kStepRows),
                                        table_of(kTaskRows), table_of(kAttemptRows)};
// The statuses that an explicit retry may reopen, by Level. Success stands, and a pruned task is
// the search's word.
constexpr std::array<Set, 4> kReopenable = {
    set(kFailed, kCancelled), set(kFailed, kCancelled, kSkipped),
    set(kFailed, kCancelled, kSkipped, kTimeout, kOutOfMemory), Set{0}};

}  // namespace

std::string_view to_string(Status status) { return detail::word_of(status, kStatusWords); }

Result<Status> parse_status(std::string_view word) {
  return detail::parse_word<Status>(word, kStatusWords, "a state");
}

bool is_end(Status status) { return contains(kEnds, status); }

bool allowed(Level level, Status from, Status to) {
  CHECK(static_cast<int>(from) < kStatusCount, "a status that is not one");
  CHECK(static_cast<int>(to) < kStatusCount, "a status that is not one");
  return contains(kNext[static_cast<std::size_t>(level)][static_cast<std::size_t>(from)], to);
}

bool reopenable(Level level, Status from) {
  CHECK(static_cast<int>(from) < kStatusCount, "a status that is not one");
  return contains(kReopenable[static_cast<std::size_t>(level)], from);
}

std::string_view to_string(Fault fault) { return detail::word_of(fault, kFaultWords); }

Result<Fault> parse_fault(std::string_view word) {
  return detail::parse_word<Fault>(word, kFaultWords, "a fault");
}

}  // namespace runnel::model
