#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/batch.h"
#include "store/log_reader.h"

namespace runnel::store {

// The state that the batches up to `through` fold to, as text of the caller's own format.
struct Snapshot {
  BatchSeq through;
  std::string text;

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// Changes to the archive that become durable together with an append.
struct ArchiveChange {
  std::vector<ArchiveEntry> put;
  std::vector<std::string> remove;  // Keys; one that is not there has no effect. After the puts.
};

// What opening found out of order and set right.
struct OpenReport {
  std::vector<std::string> notices;  // Full sentences for a person.
};

// What an append may use of a disk that is full.
enum class Room : std::uint8_t {
  kOrdinary,  // Nothing: it is kFull, and so it is when little room is left.
  kHeld,      // What the log holds of the disk for what has happened already.
  kReserve,   // That, and what it holds for what frees room: docs/design/store.md.
};

inline constexpr int kSnapshotsKept = 2;

// The spine: the durable, ordered, hash-chained record of all that was decided. Five primitives
// (append with epoch, read, snapshot, lease, archive), which every back-end can offer.
//
// Contract: append() is all or nothing and durable when it returns. kFull and kPrecondition leave
//           the log as it was and may be followed by more appends; after any other error nothing is
//           accepted until the log is opened anew, which tells whether the disk kept all of it or
//           nothing. Damage is kCorrupt and names the batch.
// Threads:  one; the caller gives the log a thread of its own, since append() waits for the disk.
// Why:      docs/design/store.md.
class EventLog : public LogReader {
 public:
  virtual const OpenReport& open_report() const = 0;
  virtual Head head() const = 0;
  virtual Head base() const = 0;
  Result<Kept> kept() final { return Kept{base(), head()}; }

  // For another thread, which does not wait for appends then.
  virtual Result<std::unique_ptr<LogConnection>> connect() = 0;

  // Begins a new term: an epoch greater than all before, durable when it returns. What holds an
  // earlier one can append no more.
  virtual Result<Epoch> acquire_lease() = 0;

  // Adds batches that follow the head without a gap; their `hash` need not be set. kPrecondition
  // when `epoch` is not the latest lease or the batches do not follow, kInvalid when one is too
  // large, kFull when the disk is.
  virtual Result<void> append(Epoch epoch, std::vector<Batch> batches, const ArchiveChange& archive,
                              Room room) = 0;
  Result<void> append(Epoch epoch, std::vector<Batch> batches, const ArchiveChange& archive) {
    return append(epoch, std::move(batches), archive, Room::kOrdinary);
  }
  Result<void> append(Epoch epoch, std::vector<Batch> batches) {
    return append(epoch, std::move(batches), ArchiveChange());
  }

  // Whether so little is left of the disk that an ordinary append would be kFull. Asks the disk.
  virtual bool is_short_of_room() = 0;

  // Keeps a snapshot of the state at a batch that is in the log, and of the older ones only the
  // latest, to which load_snapshot() falls back when this one is found damaged.
  virtual Result<void> save_snapshot(Epoch epoch, const Snapshot& snapshot) = 0;
  virtual Result<std::optional<Snapshot>> load_snapshot() = 0;

  // Drops the batches up to `through`, which the older of the kept snapshots must cover. All
  // history is kept unless someone calls this.
  virtual Result<void> prune(Epoch epoch, BatchSeq through) = 0;
};

}  // namespace runnel::store
