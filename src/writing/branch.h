#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "base/result.h"
#include "base/units.h"
#include "writing/log_files.h"
#include "writing/overlay.h"
#include "writing/replay.h"
#include "writing/write_log.h"

namespace runnel::writing {

// A branch as the one who writes it has it: its log, and the overlay that the log comes to.
//
// Contract: a change is in both or in neither. Whoever opens the branch next has, of what change()
//           returned for, all that written() and durable() have promised (WriteLog).
// Threads:  the loop's.
// Lifetime: stop() is awaited before destruction.
class Branch {
 public:
  struct Site {
    std::unique_ptr<LogFiles> files;
    LogOwner owner;
    std::uint64_t nonce = 0;  // Random: of a log that is made.
    Bytes segment = WriteLog::kSegment;
  };
  // What is there or, where nothing is, a branch of `base`: a version, empty where there is none.
  // Errors as WriteLog::open().
  static Async<std::unique_ptr<Branch>> open(async::EventLoop& loop, Site site, std::string base);

  const Overlay& overlay() const { return overlay_; }
  // The error of a log that has failed, or kInvalid for what is too long for a record. A change
  // that does not go on from what is there is the caller's defect.
  Result<LoggedRecord> change(Record record);
  // As WriteLog has it.
  Async<void> room_for(std::size_t bytes, WriteLog::Purpose purpose) {
    return log_->room_for(bytes, purpose);
  }
  bool is_short_of_room() const { return log_->is_short_of_room(); }
  // Whole records that the log had behind its end when it was opened: written last before a loss of
  // power, or behind a damaged one. What they did is gone.
  std::size_t lost() const { return lost_; }
  Async<void> written(Sequence sequence) { return log_->written(sequence); }
  Async<void> durable(Sequence sequence) { return log_->durable(sequence); }
  Sequence last() const { return log_->last(); }
  // Whether the log takes no change until begin_anew().
  bool has_failed() const { return log_->has_failed(); }
  // Bytes of the log since it began anew: what a publish has, and what was replaced since.
  std::uint64_t log_bytes() const { return log_->length(); }
  // How often it has begun anew: places of bytes from before may have none any more.
  std::uint64_t begun_anew() const { return begun_anew_; }
  // Bytes that the overlay has in a segment of the log.
  Async<std::string> read(DataPlace place, std::size_t length) { return log_->read(place, length); }

  Async<std::vector<std::string>> read_all(std::vector<DataRange> ranges) {
    return log_->read_all(std::move(ranges));
  }

  // The log goes on in a new segment, with what is left: a log that has failed takes changes again,
  // and one that has grown is short. What was begun to publish has become this version, or, empty,
  // never will. kFull without room on the disk: then nothing has changed.
  Async<void> begin_anew(std::string published);
  // The same over another version, without a change: what was changed is dropped.
  Async<void> begin_over(std::string base);
  // What was written to any file is what a version gets.
  Result<void> commit_all();
  // The same, since no program has a file open any more: those without a name are gone.
  Result<void> close_all();

  Async<void> stop() { return log_->stop(); }

 private:
  Branch() = default;
  Result<void> change_each(std::vector<Change> changes);

  std::unique_ptr<WriteLog> log_;
  Overlay overlay_;
  std::uint64_t begun_anew_ = 0;
  std::size_t lost_ = 0;
};

}  // namespace runnel::writing
