#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/log_writer.h"
#include "model/event.h"
#include "store/event_log.h"
#include "store/memory/memory_log.h"

namespace runnel::sim {

// The disk of the simulated daemon: what it holds survives every crash. The event log on it is the
// store's in memory, behind faults of a disk; beside its text it keeps what the text says.
//
// Contract: note() is told each decision before it is appended. batches() and events() are those of
//           the log's text, nothing more and nothing less.
class Disk {
 public:
  struct Batch {
    Time now;
    std::size_t events_end = 0;  // How many events the log has with it.
  };
  // What connects one life of the daemon with its disk; cut, it does nothing more to it.
  struct Cable {
    bool is_cut = false;
  };

  // `failed` is called when the disk has refused something to a life that is not cut.
  explicit Disk(std::function<void()> failed) : failed_(std::move(failed)) {}

  control::LogOpener opener(std::shared_ptr<const Cable> cable);
  void note(const control::DurableBatch& batch);

  const std::vector<Batch>& batches() const { return batches_; }
  const std::vector<model::Event>& events() const { return events_; }
  const std::vector<JobId>& jobs() const { return jobs_; }
  const store::MemoryStorage& storage() const { return *storage_; }
  // The hash of the last batch, and so of all before: equal for equal logs.
  std::string hash() const;

  // Faults.
  void fill() { full_ = true; }
  void clear() {
    full_ = false;
    held_ = kHeld;
    holds_reserve_ = true;
  }
  bool full() const { return full_; }
  // Nobody can open the log.
  void set_away(bool away) { away_ = away; }
  // The next append goes wrong so.
  void fail_next(store::AppendFault fault) { storage_->next_append = fault; }

 private:
  class FaultyLog;

  Result<void> append(store::EventLog& log, Epoch epoch, std::vector<store::Batch> batches,
                      const store::ArchiveChange& archive, store::Room room);
  bool is_short_of_room() const;
  bool take_room(store::Room room);
  void keep(BatchSeq through);

  std::function<void()> failed_;
  std::shared_ptr<store::MemoryStorage> storage_ = std::make_shared<store::MemoryStorage>();
  std::vector<Batch> batches_;
  std::vector<model::Event> events_;  // All of them, flat.
  std::vector<JobId> jobs_;           // That were submitted.
  struct Decided {
    Time now;
    std::vector<model::Event> events;
  };
  std::vector<Decided> decided_;  // After them, and not in the log yet.
  bool full_ = false;
  static constexpr int kHeld = 20;
  int held_ = kHeld;           // Appends of what has happened while the disk is full ...
  bool holds_reserve_ = true;  // ... and one more of what frees room.
  bool away_ = false;
};

}  // namespace runnel::sim
