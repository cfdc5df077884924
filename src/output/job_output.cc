#include "output/job_output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <utility>

#include "base/check.h"
#include "env/clock.h"
#include "env/files.h"
#include "output/open_file.h"
#include "output/paths.h"

namespace runnel::output {
namespace {

// A file's offsets stay far below what file systems take: then the slot is left.
constexpr std::int64_t kSegmentBytesMax = 1LL << 40;

std::int64_t size_of(int file) {
  struct stat status{};
  return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

// One more than the highest slot below `limit` that has a file, and `first` at least.
std::uint32_t first_unused_slot(const std::string& logs, std::uint32_t first, std::uint32_t limit) {
  std::uint32_t next = first;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(logs.c_str()), ::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    char* end = nullptr;
    const unsigned long slot = std::strtoul(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '.' && slot < limit) {
      next = std::max(next, static_cast<std::uint32_t>(slot) + 1);
    }
  }
  return next;
}

Result<void> write_head(int file, const std::string& path) {
  const ssize_t wrote = ::write(file, kSharedHead.data(), kSharedHead.size());
  if (wrote == static_cast<ssize_t>(kSharedHead.size())) return {};
  const int reason = wrote < 0 ? errno : ENOSPC;
  // A part of a head is none: the next try writes it whole.
  (void)!::ftruncate(file, 0);
  return errno_error("write " + path, reason);
}

bool has_head(int file) {
  char bytes[kSharedHead.size()];
  const ssize_t got = ::pread(file, bytes, sizeof bytes, 0);
  return got == static_cast<ssize_t>(sizeof bytes) &&
         std::string_view(bytes, sizeof bytes) == kSharedHead;
}

}  // namespace

Result<JobOutput> JobOutput::open(const std::string& home, const JobId& job) {
  JobOutput output;
  output.logs_ = logs_folder(home, job);
  TRY(output.prepare());
  return output;
}

Result<void> JobOutput::prepare() {
  TRY(env::make_directories(logs_));
  const std::string path = index_path(logs_);
  index_ = open_to_append(path);
  if (!index_.valid()) return errno_error("open " + path, errno);
  // A record cut off by a full disk and a kill is dropped, so that all others stay aligned.
  const std::int64_t size = size_of(index_.get());
  const std::int64_t torn = size % static_cast<std::int64_t>(kIndexRecordBytes);
  if (torn != 0 && ::ftruncate(index_.get(), size - torn) != 0) {
    return errno_error("repair " + path, errno);
  }
  next_slot_ = first_unused_slot(logs_, 0, kAloneSlots);
  next_alone_slot_ = first_unused_slot(logs_, kAloneSlots, UINT32_MAX);
  return {};
}

std::uint32_t JobOutput::take_slot(SlotUse use) {
  CHECK(next_alone_slot_ < UINT32_MAX, "a job has used up its slots");
  if (use == SlotUse::kAlone || !share_) return next_alone_slot_++;
  if (free_slots_.empty()) return next_slot_++;
  return free_slots_.extract(free_slots_.begin()).value();
}

void JobOutput::give_slot(std::uint32_t slot, SlotState state) {
  CHECK(slot < (is_alone(slot) ? next_alone_slot_ : next_slot_),
        "a slot is given back that was never taken");
  const auto first = segments_.lower_bound({slot, 0});
  const auto last = segments_.lower_bound({slot + 1, 0});
  const bool used_up = std::any_of(first, last, [](const auto& entry) {
    const Segment& segment = entry.second;
    return segment.emptied || segment.size[0] > kSegmentBytesMax ||
           segment.size[1] > kSegmentBytesMax;
  });
  if (used_up || is_alone(slot) || state == SlotState::kUnusable) {
    segments_.erase(first, last);
    return;
  }
  CHECK(free_slots_.insert(slot).second, "a slot is given back twice");
}

Result<Segment*> JobOutput::open_segment(std::uint32_t slot, std::int32_t rank) {
  Segment& segment = segments_[{slot, rank}];
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    async::UniqueFd& file = segment.files[model::index_of(stream)];
    if (file.valid()) continue;
    const std::string path = segment_path(logs_, slot, rank, stream);
    async::UniqueFd opened = open_to_append(path);
    if (!opened.valid()) return errno_error("open " + path, errno);
    if (!is_alone(slot) && size_of(opened.get()) == 0) TRY(write_head(opened.get(), path));
    file = std::move(opened);
    segment.size[model::index_of(stream)] = size_of(file.get());
  }
  return &segment;
}

Segment& JobOutput::segment_of(const RankOutput& output) {
  const auto found = segments_.find({output.slot, output.rank});
  CHECK(found != segments_.end(), "an attempt's output has no files");
  return found->second;
}

// A stream that its attempt has made shorter than its gap lacks nothing any more.
void JobOutput::measure(RankOutput& output, Bytes max_log) {
  Segment& segment = segment_of(output);
  bool gap_is_gone = false;
  for (std::size_t i = 0; i < 2; ++i) {
    segment.size[i] = size_of(segment.files[i].get());
    if (segment.size[i] >= output.gap_end[i]) continue;
    output.gap_begin[i] = output.gap_end[i] = 0;
    gap_is_gone = true;
  }
  if (gap_is_gone) {
    append(IndexRecord::Kind::kGap, output, env::real_clock().wall(), output.begin, max_log);
  }
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
  return segment_of(output).files[model::index_of(stream)].get();
}

void JobOutput::end(RankOutput& output, Bytes max_log, Time now) {
  cut(output, max_log, Slack::kNone);
  end_in_index(output, max_log, now);
}

void JobOutput::end_in_index(RankOutput& output, Bytes max_log, Time now) {
  const Segment& segment = segment_of(output);
  const bool shared = !is_alone(output.slot);
  const bool emptied[2] = {shared && !has_head(segment.files[0].get()),
                           shared && !has_head(segment.files[1].get())};
  if (emptied[0] || emptied[1]) return end_apart(output, emptied, max_log, now);
  append(IndexRecord::Kind::kEnd, output, now, segment.size, max_log);
}

// The attempt has emptied a file that it shared: all that is there is its own, and what others had
// is lost. The file becomes that of a slot of its own, so that nobody else is credited with it.
void JobOutput::end_apart(RankOutput& output, const bool (&emptied)[2], Bytes max_log, Time now) {
  CHECK(!is_alone(output.slot), "nobody lost what an attempt had alone");
  Segment& segment = segment_of(output);
  RankOutput apart = output;
  apart.slot = take_slot(SlotUse::kAlone);
  std::int64_t end[2] = {segment.size[0], segment.size[1]};
  std::int64_t apart_end[2] = {0, 0};
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    const std::size_t self = model::index_of(stream);
    RankOutput& has_none = emptied[self] ? output : apart;
    has_none.gap_begin[self] = has_none.gap_end[self] = 0;
    apart.begin[self] = 0;
    if (!emptied[self]) continue;
    apart_end[self] = std::exchange(end[self], output.begin[self]);
    const std::string path = segment_path(logs_, output.slot, output.rank, stream);
    ::rename(path.c_str(), segment_path(logs_, apart.slot, output.rank, stream).c_str());
    // An empty one in its place: the slot stays taken, and old records find nothing there.
    segment.files[self] = open_to_append(path);
  }
  segment.emptied = true;
  share_ = false;
  append(IndexRecord::Kind::kEnd, output, now, end, max_log);
  append(IndexRecord::Kind::kStart, apart, now, apart.begin, Bytes());
  append(IndexRecord::Kind::kEnd, apart, now, apart_end, max_log);
}

void JobOutput::trim(RankOutput& output, Bytes max_log) { cut(output, max_log, Slack::kSome); }

void JobOutput::end_vanished(std::uint32_t slot, std::int32_t rank,
                             const model::AttemptRef& attempt, Time now) {
  RankOutput output;
  output.slot = slot;
  output.rank = rank;
  output.attempt = attempt;
  if (open_segment(slot, rank).ok()) end_in_index(output, Bytes(), now);
}

// Each stream may use what the other leaves of max_log, and at least half of it. While the attempt
// runs it may be over by a sixteenth, so that a steady writer does not cost a hole per look.
void JobOutput::cut(RankOutput& output, Bytes max_log, Slack slack) {
  measure(output, max_log);
  if (max_log.is_zero() || !can_punch_) return;
  const Segment& segment = segment_of(output);
  const std::int64_t limit = max_log.count();
  const std::int64_t size[2] = {std::max<std::int64_t>(0, segment.size[0] - output.begin[0]),
                                std::max<std::int64_t>(0, segment.size[1] - output.begin[1])};
  const std::int64_t over = slack == Slack::kSome ? limit / 16 : 0;
  const std::int64_t dropped =
      output.gap_end[0] - output.gap_begin[0] + output.gap_end[1] - output.gap_begin[1];
  if (size[0] + size[1] - dropped <= limit + over) return;
  for (const model::LogStream stream : {model::LogStream::kOut, model::LogStream::kErr}) {
    const std::size_t self = model::index_of(stream);
    const std::int64_t share = limit - std::min(size[1 - self], limit / 2);
    if (size[self] <= share) continue;
    const std::int64_t begin = output.begin[self];
    punch(output, stream, begin + share / 2, begin + size[self] - (share - share / 2), max_log);
  }
}

// The gap is written down before it is made: a reader must not take the hole for output.
void JobOutput::punch(RankOutput& output, model::LogStream stream, std::int64_t begin,
                      std::int64_t end, Bytes max_log) {
  const std::size_t self = model::index_of(stream);
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
  append(IndexRecord::Kind::kGap, output, env::real_clock().wall(), output.begin, max_log);
  const int file = segment_of(output).files[self].get();
  constexpr int kPunch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  if (flush().ok() && ::fallocate(file, kPunch, begin, end - begin) == 0) return;
  // The file system cannot: everything is kept, and nothing is said to be missing.
  if (errno == EOPNOTSUPP || errno == ENOSYS) can_punch_ = false;
  output = before;
  append(IndexRecord::Kind::kGap, output, env::real_clock().wall(), output.begin, max_log);
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

bool JobOutput::is_in_place() const {
  struct stat own{};
  struct stat found{};
  if (::fstat(index_.get(), &own) != 0 || ::stat(index_path(logs_).c_str(), &found) != 0) {
    return false;
  }
  return own.st_dev == found.st_dev && own.st_ino == found.st_ino;
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

}  // namespace runnel::output
