#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/log_index.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/refs.h"

namespace runnel::agent {

// Which output of a job is wanted. Absent: all.
struct LogFilter {
  JobId job;
  std::optional<StepIndex> step;
  std::optional<TaskIndex> task;
  std::optional<AttemptNumber> attempt;
  std::optional<std::int32_t> rank;
  std::optional<Time> since;         // Nothing that arrived earlier, as exactly as marks tell.
  std::optional<std::int64_t> tail;  // Only with an empty cursor: the last lines of what is there.
};

// Output of one stream of one rank, a run of whole lines wherever it can be.
struct LogPiece {
  model::AttemptRef attempt;
  std::int32_t rank = 0;
  LogStream stream = LogStream::kOut;
  Time arrived_at;
  std::string bytes;
  std::string cursor;  // Reading on from here gives what follows this piece.
};

struct LogPage {
  std::vector<LogPiece> pieces;
  std::string cursor;  // Where to read on; the one that was given when there was nothing.
};

inline constexpr std::size_t kLogPageBytes = std::size_t{256} << 10;
inline constexpr std::int64_t kTailLinesMax = 1'000'000;
inline constexpr std::size_t kTailBytesMax = std::size_t{8} << 20;

// The output of jobs, read from the files that the processes wrote and the runner's index.
//
// Contract: read() yields what lies behind the cursor, about kLogPageBytes at a time; an empty page
//           when there is nothing more now. Attempts that ended come whole, in the order of their
//           ends; of those that run, what is there. A piece ends at the end of a line, unless the
//           attempt ended, the line is longer than a page, or its rest has been kPartialAfter in
//           coming. A cursor is plain text that outlives everything but the job. kInvalid for text
//           that is no cursor of this job.
// Threads:  blocking; one call at a time.
// Why:      reads what it needs and keeps nothing: a job may have a million attempts.
class LogReader {
 public:
  static constexpr Duration kPartialAfter = Duration::seconds(1);

  explicit LogReader(std::string home) : home_(std::move(home)) {}
  Result<LogPage> read(const LogFilter& filter, const std::string& cursor, Time now);

 private:
  std::string home_;
};

}  // namespace runnel::agent
