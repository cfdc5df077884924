#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/event_log.h"
#include "store/sqlite/detail/database.h"

namespace runnel::store::sqlite {

// How messages name a batch: "batch 12".
std::string name_of(BatchSeq seq);

// The one row about the log as a whole. It carries a checksum, as do snapshots and archive entries;
// batches have their chain.
struct Meta {
  std::int64_t format = kFormatVersion;
  Epoch epoch;
  Head base;  // The end of what was pruned; its epoch is not used.
};

// A snapshot as it is stored: with the link of the chain at its batch, so that reading can go on
// from it without what is before.
struct StoredSnapshot {
  Snapshot snapshot;
  EventSeq next_event;
  std::string batch_hash;
  bool good = false;  // The checksum holds.

  Head head() const { return {snapshot.through, next_event, batch_hash, Epoch()}; }
};

struct StoredEntry {
  ArchiveEntry entry;
  BatchSeq batch;     // The last one when it was put.
  bool good = false;  // The checksum holds.
};

// What a row about the log, a snapshot and a record carry.
std::int64_t checksum_of(const Meta& meta);
std::int64_t checksum_of(const StoredSnapshot& stored);
std::int64_t checksum_of(const ArchiveEntry& entry, BatchSeq batch);

// The rows of the database: statements and their meaning, without policy.
//
// Lifetime: ends before the Database it was prepared on.
class Tables {
 public:
  static Result<Tables> prepare(Database& database);

  Result<Meta> meta();  // kCorrupt when its checksum does not hold.
  Result<void> set_meta(const Meta& meta);

  Result<void> insert_batch(const Batch& batch);
  Result<std::optional<Batch>> batch(BatchSeq seq);
  Result<std::optional<Batch>> last_batch();
  // The first event of a batch; nothing when it is not there.
  Result<std::optional<EventSeq>> first_event(BatchSeq seq);
  Result<std::optional<BatchSeq>> first_seq();
  Result<void> delete_batches(BatchSeq through);

  // Calls `visit` with each batch after `after` in order, until it says no.
  template <typename Visit>
  Result<void> each_batch(BatchSeq after, Visit visit) {
    Query query(batches_after_);
    query.bind(after.value());
    while (TRY(query.step())) {
      if (!TRY(visit(batch_of(query)))) break;
    }
    return {};
  }

  // The batches that snapshots go through, newest first; the texts are read one by one.
  Result<std::vector<BatchSeq>> snapshots();
  Result<std::optional<StoredSnapshot>> snapshot(BatchSeq through);
  Result<void> insert_snapshot(const StoredSnapshot& snapshot);
  Result<void> delete_older_snapshots();

  Result<void> put_entry(const ArchiveEntry& entry, BatchSeq batch);
  Result<void> remove_entry(std::string_view key);
  Result<std::optional<StoredEntry>> entry(std::string_view key);
  // The keys with this prefix, up to `limit`.
  Result<std::vector<std::string>> keys(std::string_view prefix, std::int64_t limit);
  // Entries that sort below (sort_key, key), from the largest down to the sort key `lowest`.
  Result<std::vector<StoredEntry>> entries_below(std::string_view sort_key, std::string_view key,
                                                 std::string_view lowest, std::int64_t limit);
  template <typename Visit>
  Result<void> each_entry(Visit visit) {
    Query query(all_entries_);
    while (TRY(query.step())) TRY(visit(entry_of(query)));
    return {};
  }

 private:
  Tables() = default;
  static Batch batch_of(const Query& query);
  static StoredEntry entry_of(const Query& query);

  Statement meta_, set_meta_;
  Statement insert_batch_, batch_, last_batch_, first_event_, first_seq_, batches_after_;
  Statement delete_batches_;
  Statement snapshots_, snapshot_, insert_snapshot_, delete_snapshots_;
  Statement put_entry_, remove_entry_, entry_, keys_, entries_below_, all_entries_;
};

// The smallest text that is greater than every UTF-8 text with this prefix.
std::string after_prefix(std::string_view prefix);

}  // namespace runnel::store::sqlite
