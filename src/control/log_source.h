#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/async.h"
#include "async/stop_token.h"
#include "base/ids.h"
#include "base/units.h"
#include "model/refs.h"

namespace runnel::control {

// Which output of a job is wanted. Absent: all.
struct LogQuery {
  JobId job;
  std::optional<StepIndex> step;
  std::optional<TaskIndex> task;
  std::optional<AttemptNumber> attempt;
  std::optional<std::int32_t> rank;
  std::optional<Time> since;         // Nothing that arrived earlier.
  std::optional<std::int64_t> tail;  // Of what is there at the first read, only so many last lines.
};

enum class OutputStream : std::uint8_t { kOut, kErr };

// Output of one rank of one attempt, in the order it was written.
struct LogPiece {
  model::AttemptRef attempt;
  std::int32_t rank = 0;
  OutputStream stream = OutputStream::kOut;
  Time arrived_at;
  std::string bytes;
  std::string cursor;  // Reading on from here gives what follows this piece.
};

struct LogPage {
  std::vector<LogPiece> pieces;
  std::string cursor;  // Where to read on; the one that was given when there was nothing.
};

// Where tasks' output can be read.
//
// Contract: read() yields what lies behind the cursor ("" is the beginning; `tail` and `since`
// apply
//           there only), about kLogPageBytes at a time, and an empty page when there is nothing
//           more now. A piece ends at the end of a line, unless the attempt has ended, the line is
//           longer than a page, or its rest has been a second in coming. kInvalid for a cursor that
//           is none. changed() returns when there may be more to read, and soon when nobody can
//           tell; it may return without reason.
// Threads:  the loop's only; the implementation does its reading elsewhere.
// Lifetime: outlives the Api that uses it.
class LogSource {
 public:
  virtual ~LogSource() = default;
  virtual Async<LogPage> read(LogQuery query, std::string cursor) = 0;
  virtual Async<void> changed(JobId job, async::StopToken stop) = 0;
};

inline constexpr std::size_t kLogPageBytes = std::size_t{256} << 10;

}  // namespace runnel::control
