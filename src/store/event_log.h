#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/batch.h"

namespace runnel::store {

// Where the log ends.
struct Head {
  BatchSeq last;  // 0 while there is no batch.
  EventSeq next_event = EventSeq(1);
  std::string hash;  // Of the last batch; "" while there is none.
  Epoch epoch;       // Of the latest lease.

  friend bool operator==(const Head&, const Head&) = default;
};

// The state that the batches up to `through` fold to, as text of the caller's own format.
struct Snapshot {
  BatchSeq through;
  std::string text;

  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// The record of something finished, which left the state: found by key, listed by sort key.
inline constexpr char kAboutAnother = '=';
struct ArchiveEntry {
  std::string key;       // Unique; a put replaces. What is said about another begins with '='.
  std::string sort_key;  // Lists run from the largest to the smallest; equal ones by key.
  std::string text;

  friend bool operator==(const ArchiveEntry&, const ArchiveEntry&) = default;
};

// Changes to the archive that become durable together with an append.
struct ArchiveChange {
  std::vector<ArchiveEntry> put;
  std::vector<std::string> remove;  // Keys; one that is not there has no effect. After the puts.
};

struct ArchiveQuery {
  std::string sort_prefix;  // Only entries whose sort key begins with it.
  std::int64_t limit = 100;
  std::string page_token;  // Of the page before; "" for the first.
};

struct ArchivePage {
  std::vector<ArchiveEntry> entries;  // Newest first.
  std::string next_token;             // "" on the last page.
};

// What opening found out of order and set right.
struct OpenReport {
  std::vector<std::string> notices;  // Full sentences for a person.
};

inline constexpr std::int64_t kReadBatchesMax = 10'000;
inline constexpr Bytes kReadBytesMax = Bytes::mebi(64);
inline constexpr std::int64_t kArchivePageMax = 1000;
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
class EventLog {
 public:
  virtual ~EventLog() = default;

  virtual const OpenReport& open_report() const = 0;
  virtual Head head() const = 0;
  // Where the log begins: after the newest batch that is no longer kept, batch 0 while all are.
  virtual Head base() const = 0;

  // Begins a new term: an epoch greater than all before, durable when it returns. What holds an
  // earlier one can append no more.
  virtual Result<Epoch> acquire_lease() = 0;

  // Adds batches that follow the head without a gap; their `hash` need not be set. kPrecondition
  // when `epoch` is not the latest lease or the batches do not follow, kInvalid when one is too
  // large, kFull when the disk is.
  virtual Result<void> append(Epoch epoch, std::vector<Batch> batches,
                              const ArchiveChange& archive) = 0;
  Result<void> append(Epoch epoch, std::vector<Batch> batches) {
    return append(epoch, std::move(batches), ArchiveChange());
  }

  // The next batches after `after`, verified: at most `limit` (and kReadBatchesMax), fewer when
  // they exceed kReadBytesMax together, but at least one when there is one. kGone when they were
  // pruned.
  virtual Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) = 0;

  // The batch that holds this event. kNotFound when it is not there yet, kGone when it was pruned.
  virtual Result<Batch> find(EventSeq event) = 0;

  // Keeps a snapshot of the state at a batch that is in the log, and of the older ones only the
  // latest, to which load_snapshot() falls back when this one is found damaged.
  virtual Result<void> save_snapshot(Epoch epoch, const Snapshot& snapshot) = 0;
  virtual Result<std::optional<Snapshot>> load_snapshot() = 0;

  virtual Result<ArchiveEntry> archived(std::string_view key) = 0;
  virtual Result<ArchivePage> list_archive(const ArchiveQuery& query) = 0;
  // Up to `limit` keys that begin with `prefix`, in order: two tell that a short id is ambiguous.
  virtual Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                        std::int64_t limit) = 0;

  // Drops the batches up to `through`, which the older of the kept snapshots must cover. All
  // history is kept unless someone calls this.
  virtual Result<void> prune(Epoch epoch, BatchSeq through) = 0;
};

}  // namespace runnel::store
