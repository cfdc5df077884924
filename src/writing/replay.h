#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "writing/change.h"
#include "writing/log_files.h"
#include "writing/log_segment.h"

namespace runnel::writing {

// Whose log it is.
struct LogOwner {
  std::string volume;  // Its uuid.
  std::string branch;
};

// Where a log goes on.
struct Replayed {
  // Whole frames behind one that is not: written last before a power loss, and synced by nobody.
  std::size_t lost = 0;
  SegmentHeader segment;      // The last one,
  std::uint64_t end = 0;      // how far it is written,
  Sequence last = 0;          // the number of the last record, 0 without any,
  std::uint64_t sum = 0;      // and its sum.
  std::uint64_t oldest = 1;   // The number of the first segment that is there,
  std::uint64_t highest = 1;  // and the highest that any has had.
};

// Takes a record of a log. Its error ends the replay.
using RecordVisitor = std::function<Result<void>(const LoggedRecord&)>;

// Reads a log: gives its records in order, from the last whole checkpoint on, whose are the first.
// None: there is none yet. What it gives is on the disk when it returns: whoever wrote it may not
// have synced it, or in vain. A checkpoint that was not finished, and what lies behind
// the last whole record, are taken away, so that nothing of them is met again; segments before a
// whole one are retired.
//
// kConflict for the log of another branch, kCorrupt for a segment that is missing, or cut, or
// another log's, and for a record that had been synced and is not whole, kUnsupported for one of a
// later build: then nothing is changed. Blocks; holds a segment at a time in memory.
Result<std::optional<Replayed>> replay(LogFiles& files, const LogOwner& owner,
                                       const RecordVisitor& visit);

}  // namespace runnel::writing
