#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/worker.h"
#include "base/result.h"
#include "base/units.h"
#include "writing/change.h"
#include "writing/log_files.h"
#include "writing/log_segment.h"
#include "writing/replay.h"

namespace runnel::writing {

// The log of a branch: what was done to it outlives the processes that did it.
// docs/design/write_log.md.
//
// Contract: records are in the log in the order of append(). What written() has returned for is
//           there after any kill, what durable() has returned for after a power loss; all who wait
//           share a write and a sync (group commit). Once one of these has failed, the log takes no
//           more and whoever waits gets that error: the kernel may have dropped what a second try
//           would call safe. Then begin_anew() goes on elsewhere. What was appended is in memory
//           until somebody waits: who appends much waits now and then.
// Threads:  the loop's; files are touched on threads of its own, "write-log" and "read-log", but
//           for short writes that wait for nothing.
// Lifetime: stop() is awaited before destruction.
// Limits:   what is not on the disk yet is held in memory, and synced when it is over kHeldMax.
class WriteLog {
 public:
  static constexpr Bytes kSegment = Bytes::mebi(64);
  // On a disk that has no room for more.
  static constexpr Bytes kSegmentLeast = Bytes::mebi(4);
  static constexpr Bytes kHeldMax = Bytes::mebi(16);
  static constexpr std::size_t kAtOnceMax = 256 << 10;  // Bytes that the loop itself writes.

  struct Opened {
    std::unique_ptr<WriteLog> log;
    std::size_t lost = 0;  // As Replayed says.
  };
  // Opens what is there, whose records, durable, are given to `visit` on another thread; or makes
  // the first segment. `nonce`: of a log that is made, random. kInvalid for names of over
  // kNameBytesMax; else as replay().
  static Async<Opened> open(async::EventLoop& loop, std::unique_ptr<LogFiles> files, LogOwner owner,
                            std::uint64_t nonce, RecordVisitor visit, Bytes segment = kSegment);
  ~WriteLog();

  // The record as it is in the log from now on. kInvalid for one of over kRecordBytesMax, and the
  // error of a log that has failed.
  Result<LoggedRecord> append(Record record);
  // Holds the room for records of so many bytes, so that a disk which is full is told before any of
  // them is appended: kFull. Others may need it first. What removes something has what is left of
  // the segment for others, since it is what makes room.
  enum class Purpose : std::uint8_t { kGrowth, kRemoval };
  Async<void> room_for(std::size_t bytes, Purpose purpose);
  // Whether it was asked for more than the disk had room for, and has not begun anew since.
  bool is_short_of_room() const { return is_short_of_room_; }
  // Waits until the kernel has the record, or the disk.
  Async<void> written(Sequence sequence);
  Async<void> durable(Sequence sequence);
  // Bytes of a record, or of one before the last checkpoint whose segment was not removed.
  Async<std::string> read(DataPlace place, std::size_t length);

  // Of several, in their order.
  Async<std::vector<std::string>> read_all(std::vector<DataRange> ranges);

  // From here on the log begins with what `checkpoint` gives, which all records come to that were
  // appended until it is called; who waits for one of these is done with it. Bytes that are not on
  // the disk yet are written once more. What the log has of it is given to `visit`, in the same
  // turn of the loop. Durable, and the segments before are retired, when it returns. kFull without
  // room on the disk: then nothing has changed.
  Async<void> begin_anew(std::function<std::vector<Record>()> checkpoint, RecordVisitor visit);
  // Removes the retired segments that are not in `used`.
  Async<void> remove_unused(std::set<DataFile> used);

  // Whether it takes no record until it begins anew.
  bool has_failed() const { return failure_.has_value(); }
  // Bytes of its segments since it began anew.
  std::uint64_t length() const { return length_; }
  Sequence last() const { return last_; }
  // Up to it all are on the disk.
  Sequence durable_until() const { return durable_; }
  Async<void> stop();

 private:
  using Frames = std::shared_ptr<std::string>;
  // Frames for one place of one segment.
  struct Batch {
    SegmentHeader segment;
    bool is_made = true;  // Else it is to be made first.
    std::uint64_t place = 0;
    Frames frames = std::make_shared<std::string>();
    Sequence last = 0;
  };
  struct Held {
    Frames frames;
    Sequence last = 0;  // 0: it grows.
  };
  // By the number of the segment and the place there.
  using HeldBatches = std::map<std::pair<std::uint64_t, std::uint64_t>, Held>;

  WriteLog(async::EventLoop& loop, std::unique_ptr<LogFiles> files,
           std::unique_ptr<async::Worker> writer, std::unique_ptr<async::Worker> reader,
           const Replayed& at, std::uint64_t segment_bytes);

  LoggedRecord add(Record record, const std::string& payload);
  // Of one that goes on behind the last record.
  SegmentHeader next_segment();
  // As much as a segment may have, or as the disk has room for.
  Async<void> hold_room(LogFiles::Reserve reserve);
  void begin_segment(SegmentHeader segment);
  void begin_batch(Batch batch);
  // Bytes of a segment that are not on the disk.
  std::optional<std::string> held(DataPlace place, std::size_t length) const;
  // The record with its bytes, where they are held.
  Record with_bytes(Record record) const;
  Async<void> wait_for(Sequence sequence, bool on_disk);
  // Writes all that is pending, and syncs it where somebody waits for that.
  Async<void> work();
  // The same for little, at once: a change of threads takes several times as long as the kernel
  // does for a small write. False, and nothing is done, where it might wait.
  bool write_at_once();
  void end_work(const Result<void>& done, std::uint64_t current, Sequence until, bool on_disk);
  // What is done on the writer's thread, one after another.
  Async<void> on_writer(std::function<Result<void>()> work);
  void let_go(Sequence durable);
  Async<void> retire_before(std::uint64_t number);

  const std::unique_ptr<LogFiles> files_;
  const std::unique_ptr<async::Worker> writer_;
  const std::unique_ptr<async::Worker> reader_;
  const std::uint64_t segment_most_;  // Bytes of a segment.
  std::uint64_t segment_bytes_;       // Of those that are made from now on.
  async::Notifier turn_ended_;
  SegmentHeader segment_;  // That is appended to,
  std::uint64_t end_ = 0;  // and where.
  std::uint64_t length_ = 0;
  bool has_spare_ = false;  // Room for the next segment is held.
  bool is_short_of_room_ = false;
  std::uint64_t oldest_ = 1;   // Numbers of segments: the first that is there,
  std::uint64_t made_ = 1;     // the last that is,
  std::uint64_t highest_ = 1;  // and the highest that was given.
  std::uint64_t anew_ = 0;     // That of the last checkpoint; what fails in an earlier one is past.
  std::uint64_t sum_ = 0;      // Of the last record.
  Sequence last_ = 0;
  Sequence written_ = 0;
  Sequence durable_ = 0;
  std::deque<Batch> pending_;
  HeldBatches held_;
  std::size_t held_bytes_ = 0;
  bool is_busy_ = false;
  bool is_synced_ = false;        // Somebody has waited for the disk since the segment began.
  int on_writer_ = 0;             // What is to be done there, and is not done yet.
  int wait_for_disk_ = 0;         // Who waits for a sync.
  std::optional<Error> failure_;  // Of what was to be written or synced since the last checkpoint.
};

}  // namespace runnel::writing
