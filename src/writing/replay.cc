#include "writing/replay.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

#include "base/check.h"

namespace runnel::writing {
namespace {

// A segment without its bytes.
struct Outline {
  SegmentHeader header;
  Sequence last = 0;  // Of its frames, or, without any, of what is before them.
  std::uint64_t sum = 0;
  std::size_t end = 0;
  std::size_t lost = 0;
  std::optional<Sequence> damaged;
  bool ends_checkpoint = false;

  std::uint64_t number() const { return header.number; }
  bool is_followed_by(const Outline& next) const {
    return next.header.first == last + 1 && next.header.previous == sum;
  }
};

Error damaged(std::uint64_t number, const std::string& what) {
  return Error(Errc::kCorrupt, "segment " + std::to_string(number) + " of a log " + what)
      .with_hint("what was published is whole; keep the log's folder, and mount without it");
}

Error lacks(const Outline& segment, Sequence record) {
  return damaged(segment.number(),
                 "lacks record " + std::to_string(record) + ", which was on the disk");
}

bool is_end(const Frame& frame) {
  const Result<Record> record = decode_record(frame.payload);
  return record.ok() && std::holds_alternative<CheckpointEnd>(record->change);
}

Result<SegmentHeader> header_of(std::uint64_t number, std::string_view bytes) {
  Result<SegmentHeader> header = decode_segment_header(bytes);
  if (!header.ok()) {
    Error error = std::move(header).error();
    error.message = "segment " + std::to_string(number) + " of a log " + error.message;
    return error;
  }
  if (header->number != number) return damaged(number, "has another one's header");
  if (header->size != bytes.size()) {
    return damaged(number, "has " + std::to_string(bytes.size()) + " bytes of " +
                               std::to_string(header->size));
  }
  return header;
}

Result<Outline> outline_of(const LogFiles& files, std::uint64_t number) {
  const std::string bytes = TRY(files.read(number));
  Outline outline;
  outline.header = TRY(header_of(number, bytes));
  const SegmentFrames read = read_frames(outline.header, bytes);
  outline.end = read.end;
  outline.lost = read.lost;
  outline.damaged = read.damaged;
  outline.last = outline.header.first - 1 + read.frames.size();
  outline.sum = read.frames.empty() ? outline.header.previous : read.frames.back().sum;
  outline.ends_checkpoint = std::any_of(read.frames.begin(), read.frames.end(), is_end);
  return outline;
}

Result<void> check_owner(const SegmentHeader& header, const LogOwner& owner) {
  if (header.volume == owner.volume && header.branch == owner.branch) return {};
  return Error(Errc::kConflict,
               "the log is that of branch " + header.branch + " of the volume " + header.volume);
}

Result<std::vector<Outline>> outlines(const LogFiles& files, const LogOwner& owner) {
  std::vector<Outline> all;
  for (const std::uint64_t number : TRY(files.numbers())) {
    Outline outline = TRY(outline_of(files, number));
    TRY(check_owner(outline.header, owner));
    if (!all.empty() && outline.header.nonce != all.front().header.nonce) {
      return damaged(number, "is another log's");
    }
    all.push_back(std::move(outline));
  }
  return all;
}

// Behind the segments [from, end), which go on from one another.
std::size_t end_of_chain(const std::vector<Outline>& segments, std::size_t from) {
  std::size_t end = from + 1;
  while (end < segments.size() && !segments[end].header.begins_anew) ++end;
  return end;
}

// A segment is synced before the next one is there: nothing of it may be missing then.
Result<void> check_chain(const std::vector<Outline>& segments, std::size_t from, std::size_t end) {
  for (std::size_t at = from; at < end; ++at) {
    const Outline& segment = segments[at];
    if (segment.damaged) return lacks(segment, *segment.damaged);
    if (at + 1 < end && segments[at + 1].header.before != segment.number()) {
      return damaged(segments[at + 1].header.before, "is missing");
    }
    if (at + 1 < end && !segment.is_followed_by(segments[at + 1])) {
      return lacks(segment, segment.last + 1);
    }
  }
  return {};
}

bool has_whole_checkpoint(const std::vector<Outline>& segments, std::size_t from, std::size_t end) {
  const auto first = segments.begin();
  return segments[from].header.begins_anew &&
         std::any_of(first + static_cast<std::ptrdiff_t>(from),
                     first + static_cast<std::ptrdiff_t>(end),
                     [](const Outline& each) { return each.ends_checkpoint; });
}

// The segments that count: those from the last whole checkpoint on, or from the log's first one.
struct Needed {
  std::size_t from = 0;
  std::size_t end = 0;
};

// A checkpoint that a kill has cut short counts for nothing, but must not be one that was whole.
Result<Needed> needed_of(const std::vector<Outline>& segments) {
  for (std::size_t from = segments.size(); from-- > 0;) {
    const bool is_first = segments[from].header.before == 0;
    if (!segments[from].header.begins_anew && !is_first) continue;
    const std::size_t end = end_of_chain(segments, from);
    TRY(check_chain(segments, from, end));
    if (is_first || has_whole_checkpoint(segments, from, end)) return Needed{from, end};
  }
  return damaged(segments.front().number(),
                 "has no whole checkpoint, and what was before it is gone");
}

// Checkpoints that were cut short tell what was there when they began. Of segments before those
// that count some may be retired, and others not yet.
Result<void> check_rest(const std::vector<Outline>& segments, const Needed& needed) {
  const std::uint64_t first = segments[needed.from].number();
  for (std::size_t at = needed.end; at < segments.size(); ++at) {
    const std::uint64_t before = segments[at].header.before;
    const bool is_there =
        std::any_of(segments.begin(), segments.end(),
                    [before](const Outline& each) { return each.number() == before; });
    if (before > first && !is_there) return damaged(before, "is missing");
  }
  return {};
}

Result<void> visit_records(const LogFiles& files, const Outline& segment,
                           const RecordVisitor& visit) {
  const std::string bytes = TRY(files.read(segment.number()));
  for (const Frame& frame : read_frames(segment.header, bytes).frames) {
    Result<Record> record = decode_record(frame.payload);
    if (!record.ok() && record.error().code == Errc::kCorrupt) {
      return damaged(segment.number(), "has a record that is none");
    }
    LoggedRecord logged;
    logged.record = TRY(std::move(record));
    if (std::holds_alternative<CheckpointEnd>(logged.record.change)) continue;
    logged.sequence = frame.sequence;
    const char* const end = frame.payload.data() + frame.payload.size();
    logged.end = {.file = {DataFile::Kind::kSegment, segment.number()},
                  .offset = static_cast<std::uint64_t>(end - bytes.data())};
    TRY(visit(logged));
  }
  return {};
}

// The kernel may have what never reached the disk, and takes it for written where a sync has
// failed: so it is written again. What lies behind must not be met again behind what comes next.
Result<void> make_durable(LogFiles& files, const Outline& segment) {
  std::string bytes = TRY(files.read(segment.number()));
  const std::size_t until = std::max(bytes.find_last_not_of('\0') + 1, segment.end);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(segment.end), bytes.end(), '\0');
  const std::string_view all(bytes);
  TRY(files.write(segment.number(), kSegmentHeaderBytes,
                  all.substr(kSegmentHeaderBytes, until - kSegmentHeaderBytes)));
  return files.sync(segment.number());
}

}  // namespace

Result<std::optional<Replayed>> replay(LogFiles& files, const LogOwner& owner,
                                       const RecordVisitor& visit) {
  const std::vector<Outline> segments = TRY(outlines(files, owner));
  if (segments.empty()) return std::optional<Replayed>();
  const Needed needed = TRY(needed_of(segments));
  TRY(check_rest(segments, needed));
  Replayed all;
  for (std::size_t at = needed.from; at < needed.end; ++at) {
    TRY(visit_records(files, segments[at], visit));
  }
  const Outline& last = segments[needed.end - 1];
  CHECK(last.end <= last.header.size, "a segment is longer than it may be");
  all.lost = last.lost;
  all.segment = last.header;
  all.end = last.end;
  all.last = last.last;
  all.sum = last.sum;
  all.oldest = segments[needed.from].number();
  all.highest = segments.back().number();
  TRY(make_durable(files, last));
  for (std::size_t at = segments.size(); at-- > needed.end;) {
    TRY(files.remove(segments[at].number()));
  }
  for (std::size_t at = 0; at < needed.from; ++at) TRY(files.retire(segments[at].number()));
  return std::optional(std::move(all));
}

}  // namespace runnel::writing
