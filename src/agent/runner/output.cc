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
#include "agent/runner/moment.h"
#include "agent/runner/open_file.h"
#include "base/check.h"

namespace runnel::agent {
namespace {

// A file's offsets stay far below what file systems take: then the slot is left.
constexpr std::int64_t kSegmentBytesMax = 1LL << 40;

std::int64_t size_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

std::size_t as_index(model::LogStream stream) { return static_cast<std::size_t>(stream); }

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
  index_ = open_to_append(path);
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
  const auto first = segments_.lower_bound({slot, 0});
  const auto last = segments_.lower_bound({slot + 1, 0});
  const bool full = std::any_of(first, last, [](const auto& entry) {
    const Segment& segment = entry.second;
    return segment.size[0] > kSegmentBytesMax || segment.size[1] > kSegmentBytesMax;
  });
  if (full || state == SlotState::kSpoiled) {
    segments_.erase(first, last);
    return;
  }
  CHECK(free_slots_.insert(slot).second, "a slot is given back twice");
}

Result<Segment*> JobOutput::open_segment(std::uint32_t slot, std::int32_t rank) {
  Segment& segment = segments_[{slot, rank}];
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    async::UniqueFd& file = segment.files[as_index(stream)];
    if (file.valid()) continue;
    const std::string path = segment_path(logs_, slot, rank, stream);
    file = open_to_append(path);
    if (!file.valid()) return errno_error("open " + path, errno);
    segment.size[as_index(stream)] = size_of(file.get());
  }
  return &segment;
}

Segment& JobOutput::segment_of(const RankOutput& output) {
  const auto found = segments_.find({output.slot, output.rank});
  CHECK(found != segments_.end(), "an attempt's output has no files");
  return found->second;
}

void JobOutput::measure(Segment& segment) {
  for (std::size_t i = 0; i < 2; ++i) segment.size[i] = size_of(segment.files[i].get());
}

Result<RankOutput> JobOutput::begin(std::uint32_t slot, std::int32_t rank,
                                    const model::AttemptRef& attempt, Time now) {
  const Segment* segment = TRY(open_segment(slot, rank));
  RankOutput output;
  output.slot = slot;
  output.rank = rank;
  output.attempt = attempt;
  for (std::size_t i = 0; i < 2; ++i) output.begin[i] = segment->size[i];
  append(IndexRecord::Kind::kStart, output, now, output.begin, Bytes());
  return output;
}

int JobOutput::descriptor(const RankOutput& output, model::LogStream stream) {
  return segment_of(output).files[as_index(stream)].get();
}

void JobOutput::end(RankOutput& output, Bytes max_log, Time now) {
  cut(output, max_log, Slack::kNone);
  const Segment& segment = segment_of(output);
  append(IndexRecord::Kind::kEnd, output, now, segment.size, max_log);
}

void JobOutput::trim(RankOutput& output, Bytes max_log) { cut(output, max_log, Slack::kSome); }

void JobOutput::end_vanished(std::uint32_t slot, std::int32_t rank,
                             const model::AttemptRef& attempt, Time now) {
  RankOutput output;
  output.slot = slot;
  output.rank = rank;
  output.attempt = attempt;
  const Result<Segment*> segment = open_segment(slot, rank);
  if (!segment.ok()) return;
  append(IndexRecord::Kind::kEnd, output, now, (*segment)->size, Bytes());
}

// Each stream may use what the other leaves of max_log, and at least half of it. While the attempt
// runs it may be over by a sixteenth, so that a steady writer does not cost a hole per look.
void JobOutput::cut(RankOutput& output, Bytes max_log, Slack slack) {
  Segment& segment = segment_of(output);
  measure(segment);
  if (max_log.is_zero() || !can_punch_) return;
  const std::int64_t limit = max_log.count();
  const std::int64_t size[2] = {segment.size[0] - output.begin[0],
                                segment.size[1] - output.begin[1]};
  const std::int64_t over = slack == Slack::kSome ? limit / 16 : 0;
  const std::int64_t dropped =
      output.gap_end[0] - output.gap_begin[0] + output.gap_end[1] - output.gap_begin[1];
  if (size[0] + size[1] - dropped <= limit + over) return;
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    const std::size_t self = as_index(stream);
    const std::int64_t share = limit - std::min(size[1 - self], limit / 2);
    if (size[self] <= share) continue;
    const std::int64_t begin = output.begin[self];
    punch(output, stream, begin + share / 2, begin + size[self] - (share - share / 2), max_log);
  }
}

// The gap is written down before it is made: a reader must not take the hole for output.
void JobOutput::punch(RankOutput& output, model::LogStream stream, std::int64_t begin,
                      std::int64_t end, Bytes max_log) {
  const std::size_t self = as_index(stream);
  const RankOutput before = output;
  std::int64_t& gap_begin = output.gap_begin[self];
  std::int64_t& gap_end = output.gap_end[self];
  if (gap_end > gap_begin) {
    begin = std::min(begin, gap_begin);
    end = std::max(end, gap_end);
    if (begin == gap_begin && end == gap_end) return;
  }
  CHECK(begin < end, "a gap in the output is empty");
  gap_begin = begin;
  gap_end = end;
  append(IndexRecord::Kind::kGap, output, wall_now(), output.begin, max_log);
  const int file = segment_of(output).files[self].get();
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (flush().ok() && ::fallocate(file, kPunch, begin, end - begin) == 0) return;
  // The file system cannot: everything is kept, and nothing is said to be missing.
  if (errno == EOPNOTSUPP || errno == ENOSYS) can_punch_ = false;
  output = before;
  append(IndexRecord::Kind::kGap, output, wall_now(), output.begin, max_log);
}

void JobOutput::append(IndexRecord::Kind kind, const RankOutput& output, Time now,
                       const std::int64_t (&offset)[2], Bytes max_log) {
  IndexRecord record;
  record.kind = kind;
  record.slot = output.slot;
  record.rank = output.rank;
  record.step = output.attempt.task.step.value();
  record.task = output.attempt.task.index.value();
  record.attempt = output.attempt.attempt.value();
  record.time = now.millis();
  for (std::size_t i = 0; i < 2; ++i) {
    record.offset[i] = offset[i];
    record.gap_begin[i] = output.gap_begin[i];
    record.gap_end[i] = output.gap_end[i];
  }
  record.max_log = max_log.count();
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
