#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "async/unique_fd.h"
#include "base/units.h"
#include "output/log_cursor.h"
#include "output/log_index.h"
#include "output/log_marks.h"
#include "output/log_reader.h"

namespace runnel::output {

// An attempt's rank as the index tells it.
struct LogSource {
  IndexRecord start;
  std::optional<IndexRecord> gap;  // The latest that says what max_log dropped.
  std::optional<IndexRecord> end;  // Absent: it runs.
  // Of one that runs, by LogStream: bytes from here on are another's, who has its files by now.
  std::optional<std::array<std::int64_t, 2>> until;
  LogCursor::Open at;

  std::int64_t position(model::LogStream stream) const;
};

// Turns sources into pieces, in the order in which their output arrived, until a page is full.
//
// Contract: drain() emits what the source has (whole lines only, while it runs) and moves its
//           position; it says whether the page had room for all. What should be there and is not
//           stands in damage(). Files stay open for the life of this object.
// Threads:  blocking.
class LogPageBuilder {
 public:
  LogPageBuilder(std::string logs, JobId job, Time now)
      : logs_(std::move(logs)), job_(job), now_(now) {}

  enum class Drained : std::uint8_t { kAll, kPageFull };
  Drained drain(LogSource& source);
  // The same for readers who take each stream by itself and unfinished lines as they come: looks
  // for no order between the two.
  void drain_apart(LogSource& source);
  // Skips what arrived before `since`.
  void skip_before(LogSource& source, Time since);
  // The end of this source's stream, when its file was looked at first.
  std::int64_t end_of(const LogSource& source, model::LogStream stream);

  std::vector<model::LogPiece> take() { return std::exchange(pieces_, {}); }
  std::vector<model::LogPiece>& pieces() { return pieces_; }
  bool full() const { return bytes_ >= limit_; }
  void no_limit() { limit_ = SIZE_MAX; }
  // The sources' output that was found missing so far.
  const std::set<std::string>& damage() const { return damage_; }

 private:
  struct File {
    async::UniqueFd descriptor;
    int failure = 0;  // Why it could not be opened, as errno says it.
    std::int64_t size = 0;
    Time changed;
  };
  enum class Rest : std::uint8_t { kWait, kTake };

  File& file_of(const LogSource& source, model::LogStream stream);
  std::vector<LogMark>& marks_of(const LogSource& source);
  void emit(LogSource& source, model::LogStream stream, std::int64_t limit, Time time, Rest rest);
  bool emit_gap(LogSource& source, model::LogStream stream, Time time);
  void push(const LogSource& source, model::LogStream stream, Time time, std::string bytes);
  Rest rest_of(const LogSource& source, model::LogStream stream);
  void note_missing(const LogSource& source, model::LogStream stream);

  std::string logs_;
  JobId job_;
  Time now_;
  std::map<std::tuple<std::uint32_t, std::int32_t, model::LogStream>, File> files_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::vector<LogMark>> marks_;
  std::vector<model::LogPiece> pieces_;
  std::set<std::string> damage_;
  std::size_t bytes_ = 0;
  std::size_t limit_ = model::kLogPageBytes;
};

}  // namespace runnel::output
