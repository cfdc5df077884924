#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/refs.h"

// Tasks' output on its way from the machine that has it to those who read it.
namespace runnel::model {

enum class LogStream : std::uint8_t { kOut, kErr };
// The place in tables of what belongs to a stream.
constexpr std::size_t index_of(LogStream stream) { return static_cast<std::size_t>(stream); }

// Which output of a job is wanted. Absent: all.
struct LogFilter {
  JobId job;
  std::optional<StepIndex> step;
  std::optional<TaskIndex> task;
  std::optional<AttemptNumber> attempt;
  std::optional<std::int32_t> rank;
  std::optional<Time> since;         // Nothing that arrived earlier, as exactly as marks tell.
  std::optional<std::int64_t> tail;  // Only with an empty cursor: the last lines of what is there.
  bool over = false;                 // The job has ended: what is not there now never will be.
  bool ran = false;                  // A task of it has begun, so there is a folder of output.
};

// Output of one stream of one rank, a run of whole lines wherever it can be.
struct LogPiece {
  AttemptRef attempt;
  std::int32_t rank = 0;
  LogStream stream = LogStream::kOut;
  Time arrived_at;
  std::string bytes;
  std::string cursor;  // Reading on from here gives what follows this piece.
};

struct LogPage {
  std::vector<LogPiece> pieces;
  std::string cursor;  // The place to read on from; the one that was given when there was nothing.
  std::vector<std::string> damage;  // Sentences: why lines that were written are not told.
};

inline constexpr std::size_t kLogPageBytes = std::size_t{256} << 10;

}  // namespace runnel::model
