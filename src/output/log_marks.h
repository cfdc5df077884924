#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/log.h"

namespace runnel::output {

// "At this time the stream had grown to this offset": one entry of a `<slot>.<rank>.marks` file.
//
// Why: processes write to files themselves, so that nobody sees when a line was written. What the
//      agent sees of it, every few milliseconds, puts standard output and error in order and
//      answers `--since`.
struct LogMark {
  Time time;
  model::LogStream stream = model::LogStream::kOut;
  std::int64_t offset = 0;
  friend bool operator==(const LogMark&, const LogMark&) = default;
};

inline constexpr std::size_t kMarkBytes = 24;
// From here on a segment's marks are a second apart ...
inline constexpr std::int64_t kMarksDenseMax = 4 << 20;
// ... and here they end: later output is ordered by its place alone.
inline constexpr std::int64_t kMarksBytesMax = 32 << 20;

void append_mark(std::string& out, const LogMark& mark);
// Damaged entries are skipped; a torn tail is dropped.
std::vector<LogMark> parse_marks(std::string_view bytes);

}  // namespace runnel::output
