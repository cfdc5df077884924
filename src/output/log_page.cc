#include "output/log_page.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/check.h"
#include "output/open_file.h"

namespace runnel::output {
namespace {

constexpr Duration kClockSlack = Duration::seconds(1);

Time time_of(const timespec& at) {
  return Time::from_millis(static_cast<std::int64_t>(at.tv_sec) * 1000 + at.tv_nsec / 1'000'000);
}

std::string read_at(int file, std::int64_t offset, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t had = 0;
  while (had < bytes) {
    const ssize_t got = ::pread(file, text.data() + had, bytes - had,
                                static_cast<off_t>(offset) + static_cast<off_t>(had));
    if (got <= 0) break;
    had += static_cast<std::size_t>(got);
  }
  text.resize(had);
  return text;
}

std::string read_whole(const std::string& path) {
  const async::UniqueFd file = open_to_read(path);
  struct stat status{};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return {};
  return read_at(file.get(), 0, static_cast<std::size_t>(std::min(status.st_size, kMarksBytesMax)));
}

}  // namespace

std::int64_t LogSource::position(model::LogStream stream) const {
  return start.offset[model::index_of(stream)] + at.read[model::index_of(stream)];
}

LogPageBuilder::File& LogPageBuilder::file_of(const LogSource& source, model::LogStream stream) {
  const auto [entry, is_new] = files_.try_emplace({source.start.slot, source.start.rank, stream});
  File& file = entry->second;
  if (!is_new) return file;
  const std::string path = segment_path(logs_, source.start.slot, source.start.rank, stream);
  file.descriptor = open_to_read(path);
  struct stat status{};
  if (!file.descriptor.valid() || ::fstat(file.descriptor.get(), &status) != 0) {
    file.failure = errno;
    return file;
  }
  file.size = status.st_size;
  file.changed = time_of(status.st_mtim);
  return file;
}

// Output that the index says ended there was there once.
void LogPageBuilder::note_missing(const LogSource& source, model::LogStream stream) {
  const std::size_t self = model::index_of(stream);
  const File& file = file_of(source, stream);
  if (!source.end || source.end->offset[self] <= std::max(source.start.offset[self], file.size))
    return;
  const std::string path = segment_path(logs_, source.start.slot, source.start.rank, stream);
  if (file.failure == 0) {
    damage_.insert(path + " is shorter than its index says: output is lost");
    return;
  }
  damage_.insert(
      path + " holds output that cannot be read: " + std::generic_category().message(file.failure));
}

std::vector<LogMark>& LogPageBuilder::marks_of(const LogSource& source) {
  const auto [entry, is_new] = marks_.try_emplace({source.start.slot, source.start.rank});
  std::vector<LogMark>& marks = entry->second;
  if (is_new) {
    marks = parse_marks(read_whole(marks_path(logs_, source.start.slot, source.start.rank)));
  }
  return marks;
}

std::int64_t LogPageBuilder::end_of(const LogSource& source, model::LogStream stream) {
  // Output that the index says ended there is there, but for files that somebody removed or
  // emptied.
  note_missing(source, stream);
  const std::size_t self = model::index_of(stream);
  std::int64_t end = file_of(source, stream).size;
  if (source.end) end = std::min(end, source.end->offset[self]);
  if (source.until) end = std::min(end, source.until->at(self));
  return std::max(end, source.start.offset[self]);
}

// A line without its end waits for it, unless nothing more will come, or has come for a while.
LogPageBuilder::Rest LogPageBuilder::rest_of(const LogSource& source, model::LogStream stream) {
  if (source.end) return Rest::kTake;
  return now_ - file_of(source, stream).changed >= LogReader::kPartialAfter ? Rest::kTake
                                                                            : Rest::kWait;
}

LogPageBuilder::Drained LogPageBuilder::drain(LogSource& source) {
  const std::int64_t end[2] = {end_of(source, model::LogStream::kOut),
                               end_of(source, model::LogStream::kErr)};
  const auto has_all = [&] {
    return source.position(model::LogStream::kOut) >= end[0] &&
           source.position(model::LogStream::kErr) >= end[1];
  };
  const Time last = source.end ? Time::from_millis(source.end->time) : now_;
  if (has_all()) return Drained::kAll;
  // Wall clocks may be set while an attempt runs: a little is allowed for on both sides.
  const std::vector<LogMark>& marks = marks_of(source);
  const Time first = Time::from_millis(source.start.time) - kClockSlack;
  auto mark = std::lower_bound(marks.begin(), marks.end(), first,
                               [](const LogMark& m, Time time) { return m.time < time; });
  for (; mark != marks.end() && !has_all() && !full(); ++mark) {
    if (mark->time > last + kClockSlack) break;
    emit(source, mark->stream, std::min(mark->offset, end[model::index_of(mark->stream)]),
         std::min(mark->time, last), Rest::kWait);
  }
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    if (!full()) emit(source, stream, end[model::index_of(stream)], last, rest_of(source, stream));
  }
  return full() && !has_all() ? Drained::kPageFull : Drained::kAll;
}

void LogPageBuilder::drain_apart(LogSource& source) {
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    if (!full()) emit(source, stream, end_of(source, stream), Time(), Rest::kTake);
  }
}

// True when the position stood in the gap and has left it.
bool LogPageBuilder::emit_gap(LogSource& source, model::LogStream stream, Time time) {
  const std::size_t self = model::index_of(stream);
  if (!source.gap || source.gap->gap_end[self] <= source.gap->gap_begin[self]) return false;
  const std::int64_t position = source.position(stream);
  if (position < source.gap->gap_begin[self] || position >= source.gap->gap_end[self]) return false;
  const std::int64_t dropped = source.gap->gap_end[self] - position;
  source.at.read[self] += dropped;
  push(source, stream, time,
       "\n[runnel: " + std::to_string(dropped) + " bytes dropped here: max_log is " +
           to_string(Bytes::count(source.gap->max_log)) + "]\n");
  return true;
}

void LogPageBuilder::emit(LogSource& source, model::LogStream stream, std::int64_t limit, Time time,
                          Rest rest) {
  const std::size_t self = model::index_of(stream);
  while (!full() && source.position(stream) < limit) {
    if (emit_gap(source, stream, time)) continue;
    const std::int64_t position = source.position(stream);
    std::int64_t stop = std::min(limit, position + static_cast<std::int64_t>(model::kLogPageBytes));
    const bool before_gap = source.gap && source.gap->gap_begin[self] > position &&
                            source.gap->gap_begin[self] <= stop &&
                            source.gap->gap_end[self] > source.gap->gap_begin[self];
    if (before_gap) stop = source.gap->gap_begin[self];
    const bool takes_all = before_gap || (rest == Rest::kTake && stop == limit);
    std::string bytes = read_at(file_of(source, stream).descriptor.get(), position,
                                static_cast<std::size_t>(stop - position));
    const std::size_t line_end = bytes.find_last_of("\n\r");  // A progress bar never says \n.
    if (line_end != std::string::npos && !takes_all) bytes.resize(line_end + 1);
    const bool waits =
        line_end == std::string::npos && !takes_all && bytes.size() < model::kLogPageBytes;
    if (bytes.empty() || waits) return;
    source.at.read[self] += static_cast<std::int64_t>(bytes.size());
    push(source, stream, time, std::move(bytes));
  }
}

void LogPageBuilder::push(const LogSource& source, model::LogStream stream, Time time,
                          std::string bytes) {
  CHECK(!bytes.empty(), "a piece of output is empty");
  bytes_ += bytes.size();
  model::LogPiece piece;
  piece.attempt = {{job_, StepIndex(source.start.step), TaskIndex(source.start.task)},
                   AttemptNumber(source.start.attempt)};
  piece.rank = source.start.rank;
  piece.stream = stream;
  piece.arrived_at = time;
  piece.bytes = std::move(bytes);
  pieces_.push_back(std::move(piece));
}

void LogPageBuilder::skip_before(LogSource& source, Time since) {
  if (Time::from_millis(source.start.time) >= since) return;
  for (const LogMark& mark : marks_of(source)) {
    const std::size_t self = model::index_of(mark.stream);
    if (mark.time >= since) break;
    // The latest counts: an attempt that empties its output begins anew.
    source.at.read[self] = std::max<std::int64_t>(0, mark.offset - source.start.offset[self]);
  }
}

}  // namespace runnel::output
