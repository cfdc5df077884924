#include "output/log_reader.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <set>
#include <utility>

#include "async/unique_fd.h"
#include "output/index_file.h"
#include "output/log_audit.h"
#include "output/log_cursor.h"
#include "output/log_page.h"
#include "output/open_file.h"
#include "output/paths.h"

namespace runnel::output {
namespace {

// Cursors of single pieces are told while they are short; then only the page's.
constexpr std::size_t kOpenForPieceCursors = 32;

bool wanted(const model::LogFilter& filter, const IndexRecord& record) {
  if (filter.step && filter.step->value() != record.step) return false;
  if (filter.task && filter.task->value() != record.task) return false;
  if (filter.attempt && filter.attempt->value() != record.attempt) return false;
  return !filter.rank || *filter.rank == record.rank;
}

bool same_run(const IndexRecord& a, const IndexRecord& b) {
  return a.slot == b.slot && a.rank == b.rank && a.step == b.step && a.task == b.task &&
         a.attempt == b.attempt;
}

// One call of read(): walks the index from the cursor and drains what it meets.
class Walk {
 public:
  Walk(const std::string& logs, const model::LogFilter& filter, Time now)
      : logs_(logs),
        filter_(filter),
        index_(logs),
        page_(logs, filter.job, now),
        records_(index_.records()),
        looked_(records_) {}

  Result<void> resume(const LogCursor& cursor) {
    passed_ = cursor.records;
    if (passed_ > records_) return unknown();
    for (const auto& [number, open] : cursor.open) {
      const std::optional<IndexRecord> start = index_.at(number);
      if (!start || start->kind != IndexRecord::Kind::kStart) return unknown();
      LogSource source;
      source.start = *start;
      source.at = open;
      if (open.gap_record >= 0) source.gap = index_.at(open.gap_record);
      open_.emplace(number, source);
    }
    return {};
  }

  model::LogPage read() {
    while (passed_ < records_ && pass(passed_)) {
      ++passed_;
      tell_cursors();
    }
    if (passed_ == records_) drain_running();
    return finish();
  }

  model::LogPage read_tail(std::int64_t lines) {
    std::deque<LogSource> ended;
    page_.no_limit();
    for (; passed_ < records_; ++passed_) {
      std::optional<LogSource> over = collect(passed_);
      if (!over || !has_output(*over)) continue;
      ended.push_back(*std::move(over));
      if (static_cast<std::int64_t>(ended.size()) > lines) ended.pop_front();
    }
    return last_lines(std::move(ended), lines);
  }

 private:
  static Error unknown() {
    return Error(Errc::kInvalid, "is not a place in this job's output")
        .with_field("cursor")
        .with_hint("read again from the beginning");
  }

  std::map<std::int64_t, LogSource>::iterator find(const IndexRecord& record) {
    return std::find_if(open_.begin(), open_.end(),
                        [&](const auto& entry) { return same_run(entry.second.start, record); });
  }

  std::optional<IndexRecord> record_at(std::int64_t number) {
    std::optional<IndexRecord> record = index_.at(number);
    if (!record) has_damaged_records_ = true;
    return record;
  }

  // A source whose end was never written, or is damaged: where the next one begins in the same
  // files, it was over.
  std::map<std::int64_t, LogSource>::iterator find_displaced(const IndexRecord& record) {
    if (record.kind != IndexRecord::Kind::kStart) return open_.end();
    return std::find_if(open_.begin(), open_.end(), [&](const auto& entry) {
      return entry.second.start.slot == record.slot && entry.second.start.rank == record.rank;
    });
  }

  void begin(std::int64_t number, const IndexRecord& record) {
    LogSource source;
    source.start = record;
    if (filter_.since) page_.skip_before(source, *filter_.since);
    open_.emplace(number, source);
  }

  // False: the page is full, and the record must be met again.
  bool pass(std::int64_t number) {
    const std::optional<IndexRecord> record = record_at(number);
    if (!record) return true;
    const auto displaced = find_displaced(*record);
    if (displaced != open_.end()) {
      if (!drain_to_end(displaced->second, *record)) return false;
      open_.erase(displaced);
    }
    if (!wanted(filter_, *record)) return true;
    if (record->kind == IndexRecord::Kind::kStart) {
      begin(number, *record);
      return true;
    }
    const auto found = find(*record);
    if (found == open_.end()) return true;
    const bool tells_gap = record->kind == IndexRecord::Kind::kGap;
    if (tells_gap || has_gap(*record)) found->second.gap = record;
    if (tells_gap) {
      found->second.at.gap_record = number;
      return true;
    }
    if (!drain_to_end(found->second, *record)) return false;
    open_.erase(found);
    return true;
  }

  bool is_too_old(const IndexRecord& end) const {
    return filter_.since && Time::from_millis(end.time) < *filter_.since;
  }

  // False: the page is full.
  bool drain_to_end(LogSource& source, const IndexRecord& end) {
    source.end = end;
    if (is_too_old(end) || page_.drain(source) == LogPageBuilder::Drained::kAll) return true;
    source.end.reset();
    return false;
  }

  // As pass(), but hands out what ended instead of reading it.
  std::optional<LogSource> collect(std::int64_t number) {
    const std::optional<IndexRecord> record = record_at(number);
    if (!record) return std::nullopt;
    const auto displaced = find_displaced(*record);
    const bool is_wanted = wanted(filter_, *record);
    if (displaced != open_.end()) {
      std::optional<LogSource> over = take_over(displaced, *record);
      if (is_wanted) begin(number, *record);
      return over;
    }
    if (!is_wanted) return std::nullopt;
    if (record->kind == IndexRecord::Kind::kStart) {
      begin(number, *record);
      return std::nullopt;
    }
    const auto found = find(*record);
    if (found == open_.end()) return std::nullopt;
    const bool tells_gap = record->kind == IndexRecord::Kind::kGap;
    if (tells_gap || has_gap(*record)) found->second.gap = record;
    if (tells_gap) {
      found->second.at.gap_record = number;
      return std::nullopt;
    }
    return take_over(found, *record);
  }

  std::optional<LogSource> take_over(std::map<std::int64_t, LogSource>::iterator found,
                                     const IndexRecord& end) {
    LogSource over = found->second;
    open_.erase(found);
    over.end = end;
    if (is_too_old(end)) return std::nullopt;
    return over;
  }

  bool has_output(const LogSource& source) {
    return page_.end_of(source, model::LogStream::kOut) > source.position(model::LogStream::kOut) ||
           page_.end_of(source, model::LogStream::kErr) > source.position(model::LogStream::kErr);
  }

  // What an attempt that runs has is everything up to the end of its files, and these are the next
  // attempt's, too. The runner writes down that one has ended and another begins before the other
  // writes anything: what the index says once the files were looked at is where the first one ends.
  void look_at(LogSource& source) {
    (void)page_.end_of(source, model::LogStream::kOut);
    (void)page_.end_of(source, model::LogStream::kErr);
    if (index_.look_again()) note_later();
    const auto later = later_.find({source.start.slot, source.start.rank});
    if (later != later_.end()) source.until = later->second;
  }

  void note_later() {
    for (; looked_ < index_.records(); ++looked_) {
      const std::optional<IndexRecord> record = index_.at(looked_);
      if (!record || record->kind == IndexRecord::Kind::kGap) continue;
      later_.try_emplace({record->slot, record->rank},
                         std::array{record->offset[0], record->offset[1]});
    }
  }

  void drain_running() {
    for (auto& [number, source] : open_) {
      if (page_.full()) break;
      look_at(source);
      if (page_.drain(source) == LogPageBuilder::Drained::kPageFull) break;
      tell_cursors();
    }
  }

  // Newest first, until there are lines enough; what is left in them of each is the end.
  model::LogPage last_lines(std::deque<LogSource> ended, std::int64_t lines) {
    std::vector<std::vector<model::LogPiece>> parts;
    for (auto& [number, source] : open_) look_at(source);
    for (auto entry = open_.rbegin(); entry != open_.rend() && lines > 0; ++entry) {
      lines -= take_last(entry->second, lines, parts);
    }
    // Those of which nothing is told are not told later either.
    for (auto& [number, source] : open_) skip_to_end(source);
    while (!ended.empty() && lines > 0) {
      lines -= take_last(ended.back(), lines, parts);
      ended.pop_back();
    }
    std::reverse(parts.begin(), parts.end());
    for (auto& part : parts)
      std::move(part.begin(), part.end(), std::back_inserter(page_.pieces()));
    return finish();
  }

  void skip_to_end(LogSource& source) {
    if (source.at.read[0] != 0 || source.at.read[1] != 0) return;
    for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
      const auto self = static_cast<std::size_t>(stream);
      source.at.read[self] = page_.end_of(source, stream) - source.start.offset[self];
    }
  }

  // The source's last lines, as pieces; returns how many lines that were.
  std::int64_t take_last(LogSource& source, std::int64_t lines,
                         std::vector<std::vector<model::LogPiece>>& parts) {
    for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
      const auto self = static_cast<std::size_t>(stream);
      const std::int64_t over = page_.end_of(source, stream) - source.position(stream) -
                                static_cast<std::int64_t>(kTailBytesMax);
      if (over > 0) source.at.read[self] += over;
    }
    page_.drain(source);
    std::vector<model::LogPiece> pieces = page_.take();
    std::int64_t count = 0;
    std::size_t first = pieces.size();
    while (first > 0 && count < lines) count += cut_to_last(pieces[--first].bytes, lines - count);
    pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(first));
    if (!pieces.empty()) parts.push_back(std::move(pieces));
    return count;
  }

  // Keeps at most the last `lines` lines of the text; returns how many it has then.
  static std::int64_t cut_to_last(std::string& text, std::int64_t lines) {
    std::int64_t count = 0;
    std::size_t at = text.size();
    while (at > 0 && count < lines) {
      const std::size_t before = at >= 2 ? text.rfind('\n', at - 2) : std::string::npos;
      at = before == std::string::npos ? 0 : before + 1;
      ++count;
    }
    text.erase(0, at);
    return count;
  }

  std::string cursor_text() const {
    LogCursor cursor;
    cursor.records = passed_;
    for (const auto& [number, source] : open_) cursor.open.emplace(number, source.at);
    return to_string(cursor);
  }

  // Pieces told since the last call are followed by this place.
  void tell_cursors() {
    std::vector<model::LogPiece>& pieces = page_.pieces();
    if (told_ == pieces.size() || open_.size() > kOpenForPieceCursors) return;
    pieces.back().cursor = cursor_text();
    told_ = pieces.size();
  }

  // A piece in the middle of a source's pieces takes the place after the one before: its reader
  // gets it again.
  model::LogPage finish() {
    model::LogPage page;
    page.cursor = cursor_text();
    page.pieces = page_.take();
    if (!page.pieces.empty()) page.pieces.back().cursor = page.cursor;
    for (std::size_t i = 1; i < page.pieces.size(); ++i) {
      if (page.pieces[i].cursor.empty()) page.pieces[i].cursor = page.pieces[i - 1].cursor;
    }
    page.damage = damage();
    return page;
  }

  std::vector<std::string> damage() const {
    std::set<std::string> sentences = page_.damage();
    if (has_damaged_records_) sentences.insert(damaged_records(logs_));
    if (passed_ == records_) {
      const LogAudit::Job ended = filter_.ran ? LogAudit::Job::kOver : LogAudit::Job::kNeverBegan;
      const LogAudit::Job job = filter_.over ? ended : LogAudit::Job::kRuns;
      for (std::string& sentence : LogAudit(logs_, job).sentences())
        sentences.insert(std::move(sentence));
    }
    return {sentences.begin(), sentences.end()};
  }

  const std::string& logs_;
  const model::LogFilter& filter_;
  IndexFile index_;
  LogPageBuilder page_;
  const std::int64_t records_;  // That this walk passes: those that there were at its begin.
  std::int64_t looked_;         // Those that look_at() has seen.
  // Where what comes later begins in the files of a slot and rank.
  std::map<std::pair<std::uint32_t, std::int32_t>, std::array<std::int64_t, 2>> later_;
  std::map<std::int64_t, LogSource> open_;
  std::int64_t passed_ = 0;
  std::size_t told_ = 0;
  bool has_damaged_records_ = false;
};

}  // namespace

Result<model::LogPage> LogReader::read(const model::LogFilter& filter, const std::string& cursor,
                                       Time now) {
  const std::string logs = logs_folder(home_, filter.job);
  Walk walk(logs, filter, now);
  TRY(walk.resume(TRY(parse_log_cursor(cursor))));
  if (cursor.empty() && filter.tail) {
    return walk.read_tail(std::clamp<std::int64_t>(*filter.tail, 0, kTailLinesMax));
  }
  model::LogPage page = walk.read();
  if (page.pieces.empty() && page.cursor == "0") page.cursor = cursor;
  return page;
}

}  // namespace runnel::output
