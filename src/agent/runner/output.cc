#include "agent/runner/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "agent/runner/folders.h"
#include "base/check.h"

namespace runnel::agent {
namespace {

constexpr int kAppend = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY;
// A file's offsets stay far below what file systems take: then the slot is left.
constexpr std::int64_t kSegmentBytesMax = 1LL << 40;

std::int64_t size_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

std::size_t as_index(LogStream stream) { return static_cast<std::size_t>(stream); }

// One more than the highest slot that has a file.
std::uint32_t first_unused_slot(const std::string& logs) {
  std::uint32_t next = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(logs.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    char* end = nullptr;
    const unsigned long slot = std::strtoul(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '.' && slot < UINT32_MAX) {
      next = std::max(next, static_cast<std::uint32_t>(slot) + 1);
    }
  }
  return next;
}

}  // namespace

Result<JobOutput> JobOutput::open(const std::string& home, const JobId& job) {
  JobOutput output;
  output.logs_ = logs_folder(home, job);
  TRY(output.prepare());
  return output;
}

Result<void> JobOutput::prepare() {
  TRY(make_folders(logs_));
  const std::string path = index_path(logs_);
  index_ = async::UniqueFd(::open(path.c_str(), kAppend, 0644));
  if (!index_.valid()) return errno_error("open " + path, errno);
  // A record cut off by a full disk and a kill is dropped, so that all others stay aligned.
  const std::int64_t size = size_of(index_.get());
  const std::int64_t torn = size % static_cast<std::int64_t>(kIndexRecordBytes);
  if (torn != 0 && ::ftruncate(index_.get(), size - torn) != 0) {
    return errno_error("repair " + path, errno);
  }
  next_slot_ = first_unused_slot(logs_);
  return {};
}

std::uint32_t JobOutput::take_slot() {
  if (free_slots_.empty()) return next_slot_++;
  return free_slots_.extract(free_slots_.begin()).value();
}

void JobOutput::give_slot(std::uint32_t slot, SlotState state) {
  CHECK(slot < next_slot_, "a slot is given back that was never taken");
  bool spoiled = state == SlotState::kSpoiled;
  for (auto entry = segments_.lower_bound({slot, 0});
       entry != segments_.end() && entry->first.first == slot; ++entry) {
    const Segment& segment = entry->second;
    if (segment.out.valid() && size_of(segment.out.get()) > kSegmentBytesMax) spoiled = true;
    if (segment.err.valid() && size_of(segment.err.get()) > kSegmentBytesMax) spoiled = true;
  }
  if (!spoiled) {
    CHECK(free_slots_.insert(slot).second, "a slot is given back twice");
    return;
  }
  segments_.erase(segments_.lower_bound({slot, 0}), segments_.lower_bound({slot + 1, 0}));
}

Result<Segment*> JobOutput::segment(std::uint32_t slot, std::int32_t rank) {
  Segment& segment = segments_[{slot, rank}];
  if (segment.out.valid() && segment.err.valid()) return &segment;
  const std::string out = segment_path(logs_, slot, rank, LogStream::kOut);
  const std::string err = segment_path(logs_, slot, rank, LogStream::kErr);
  segment.out = async::UniqueFd(::open(out.c_str(), kAppend, 0644));
  if (!segment.out.valid()) return errno_error("open " + out, errno);
  segment.err = async::UniqueFd(::open(err.c_str(), kAppend, 0644));
  if (!segment.err.valid()) return errno_error("open " + err, errno);
  return &segment;
}

Result<RankOutput> JobOutput::begin(std::uint32_t slot, std::int32_t rank,
                                    const model::AttemptRef& attempt, Time now) {
  Segment* files = TRY(segment(slot, rank));
  RankOutput output;
  output.slot = slot;
  output.rank = rank;
  output.attempt = attempt;
  output.begin[0] = size_of(files->out.get());
  output.begin[1] = size_of(files->err.get());
  append(IndexRecord::Kind::kStart, output, now, output.begin[0], output.begin[1]);
  return output;
}

int JobOutput::descriptor(const RankOutput& output, LogStream stream) const {
  const auto found = segments_.find({output.slot, output.rank});
  CHECK(found != segments_.end(), "an attempt's output has no files");
  return stream == LogStream::kOut ? found->second.out.get() : found->second.err.get();
}

void JobOutput::end(RankOutput& output, Bytes max_log, Time now) {
  cut(output, max_log, Slack::kNone);
  append(IndexRecord::Kind::kEnd, output, now, size_of(descriptor(output, LogStream::kOut)),
         size_of(descriptor(output, LogStream::kErr)));
}

void JobOutput::trim(RankOutput& output, Bytes max_log) { cut(output, max_log, Slack::kSome); }

void JobOutput::end_vanished(std::uint32_t slot, std::int32_t rank,
                             const model::AttemptRef& attempt, Time now) {
  RankOutput output;
  output.slot = slot;
  output.rank = rank;
  output.attempt = attempt;
  const Result<Segment*> files = segment(slot, rank);
  if (!files.ok()) return;
  append(IndexRecord::Kind::kEnd, output, now, size_of((*files)->out.get()),
         size_of((*files)->err.get()));
}

// Each stream may use what the other leaves of max_log, and at least half of it. While the attempt
// runs it may be over by a sixteenth, so that a steady writer does not cost a hole per look.
void JobOutput::cut(RankOutput& output, Bytes max_log, Slack slack) {
  if (max_log.is_zero() || !can_punch_) return;
  const std::int64_t limit = max_log.count();
  const std::int64_t size[2] = {
      size_of(descriptor(output, LogStream::kOut)) - output.begin[0],
      size_of(descriptor(output, LogStream::kErr)) - output.begin[1],
  };
  const std::int64_t over = slack == Slack::kSome ? limit / 16 : 0;
  const std::int64_t dropped =
      output.gap_end[0] - output.gap_begin[0] + output.gap_end[1] - output.gap_begin[1];
  if (size[0] + size[1] - dropped <= limit + over) return;
  for (const LogStream stream : {LogStream::kOut, LogStream::kErr}) {
    const std::size_t self = as_index(stream);
    const std::int64_t share = limit - std::min(size[1 - self], limit / 2);
    if (size[self] <= share) continue;
    const std::int64_t begin = output.begin[self];
    punch(output, stream, begin + share / 2, begin + size[self] - (share - share / 2), max_log);
  }
}

void JobOutput::punch(RankOutput& output, LogStream stream, std::int64_t begin, std::int64_t end,
                      Bytes max_log) {
  const std::size_t self = as_index(stream);
  std::int64_t& gap_begin = output.gap_begin[self];
  std::int64_t& gap_end = output.gap_end[self];
  if (gap_end > gap_begin) {
    begin = std::min(begin, gap_begin);
    end = std::max(end, gap_end);
    if (begin == gap_begin && end == gap_end) return;
  }
  CHECK(begin < end, "a gap in the output is empty");
  if (::fallocate(descriptor(output, stream), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin,
                  end - begin) != 0) {
    // The file system cannot: everything is kept, and nothing is said to be missing.
    if (errno == EOPNOTSUPP || errno == ENOSYS) can_punch_ = false;
    return;
  }
  gap_begin = begin;
  gap_end = end;
  IndexRecord record;
  record.kind = IndexRecord::Kind::kGap;
  record.stream = stream;
  record.slot = output.slot;
  record.rank = output.rank;
  record.step = output.attempt.task.step.value();
  record.task = output.attempt.task.index.value();
  record.attempt = output.attempt.attempt.value();
  record.time = max_log.count();
  record.first = begin;
  record.second = end;
  append_record(pending_, record);
}

void JobOutput::append(IndexRecord::Kind kind, const RankOutput& output, Time now,
                       std::int64_t first, std::int64_t second) {
  IndexRecord record;
  record.kind = kind;
  record.slot = output.slot;
  record.rank = output.rank;
  record.step = output.attempt.task.step.value();
  record.task = output.attempt.task.index.value();
  record.attempt = output.attempt.attempt.value();
  record.time = now.millis();
  record.first = first;
  record.second = second;
  append_record(pending_, record);
}

Result<void> JobOutput::flush() {
  while (!pending_.empty()) {
    const ssize_t wrote = ::write(index_.get(), pending_.data(), pending_.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno_error("write " + index_path(logs_), errno);
    pending_.erase(0, static_cast<std::size_t>(wrote));
  }
  return {};
}

void JobOutput::close_files() { segments_.clear(); }

}  // namespace runnel::agent
