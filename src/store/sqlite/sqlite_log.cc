#include "store/sqlite/sqlite_log.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "store/checks.h"
#include "store/sqlite/detail/copies.h"
#include "store/sqlite/detail/head_file.h"
#include "store/sqlite/detail/held_room.h"
#include "store/sqlite/detail/history.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/replacement.h"
#include "store/sqlite/detail/wal_scan.h"
#include "store/sqlite/sqlite_connection.h"

namespace runnel::store {
namespace {

using sqlite::Database;
using sqlite::StoredSnapshot;
using sqlite::Tables;
using sqlite::Transaction;

class SqliteLog final : public EventLog {
 public:
  SqliteLog(std::string path, sqlite::OpenDatabase opened, sqlite::Recovered recovered,
            sqlite::HeadFile head_file, sqlite::HeldRoom room)
      : path_(std::move(path)),
        database_(std::move(opened.database)),
        tables_(std::move(opened.tables)),
        meta_(std::move(recovered.meta)),
        head_(std::move(recovered.head)),
        snapshot_(std::move(recovered.snapshot)),
        head_file_(std::move(head_file)),
        room_(std::move(room)),
        report_(std::move(recovered.report)) {}
  ~SqliteLog() override { head_file_.sync(); }

  const OpenReport& open_report() const override { return report_; }
  Head head() const override { return head_; }
  Head base() const override { return meta_.base; }
  Result<Epoch> acquire_lease() override;
  using EventLog::append;
  Result<void> append(Epoch epoch, std::vector<Batch> batches, const ArchiveChange& archive,
                      Room room) override;
  bool is_short_of_room() override { return room_.is_short(); }
  Result<std::unique_ptr<LogConnection>> connect() override { return connect_sqlite(path_); }
  Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) override {
    return sqlite::read_batches(tables_, {meta_.base, head_}, after, limit);
  }
  Result<Batch> find(EventSeq event) override {
    return sqlite::find_batch(tables_, {meta_.base, head_}, event);
  }
  Result<void> save_snapshot(Epoch epoch, const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Result<ArchiveEntry> archived(std::string_view key) override {
    return sqlite::archived(tables_, key);
  }
  Result<ArchivePage> list_archive(const ArchiveQuery& query) override {
    return sqlite::list_archive(tables_, query);
  }
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override {
    return sqlite::archive_keys(tables_, prefix, limit);
  }
  Result<void> prune(Epoch epoch, BatchSeq through) override;

 private:
  // Runs `change` in a transaction under a lease that is checked inside it.
  template <typename Change>
  Result<void> write(Epoch epoch, Change change);
  template <typename Change>
  Result<void> transact(Change change);
  template <typename Change>
  Result<void> in_transaction(Change change);
  // Calls `change`, and once more with the room of the reserve when the disk is full.
  template <typename Change>
  Result<void> with_reserve(Change change);
  Result<void> insert(const std::vector<Batch>& batches, const ArchiveChange& archive);

  const std::string path_;
  Database database_;
  Tables tables_;
  sqlite::Meta meta_;
  Head head_;
  std::optional<Snapshot> snapshot_;  // As found by opening, until it is asked for.
  sqlite::HeadFile head_file_;
  sqlite::HeldRoom room_;
  OpenReport report_;
  bool broken_ = false;
};

template <typename Change>
Result<void> SqliteLog::transact(Change change) {
  if (broken_) return log_is_broken();
  Result<void> done = in_transaction(change);
  if (done.ok()) return done;
  const Errc code = done.error().code;
  const bool nothing_happened =
      code == Errc::kFull || code == Errc::kPrecondition || code == Errc::kUnavailable;
  // After a failed sync it is unknown what the disk has, and a second sync would not tell.
  if (!nothing_happened) broken_ = true;
  return done;
}

template <typename Change>
Result<void> SqliteLog::in_transaction(Change change) {
  Transaction transaction = TRY(Transaction::begin(database_));
  TRY(change());
  return transaction.commit();
}

template <typename Change>
Result<void> SqliteLog::write(Epoch epoch, Change change) {
  return transact([&]() -> Result<void> {
    TRY(check_epoch(epoch, TRY(tables_.meta()).epoch));
    return change();
  });
}

template <typename Change>
Result<void> SqliteLog::with_reserve(Change change) {
  Result<void> done = change();
  const bool full = !done.ok() && done.error().code == Errc::kFull;
  if (!full || !room_.give_up()) return done;
  room_.hold_given_up();
  return change();
}

Result<Epoch> SqliteLog::acquire_lease() {
  sqlite::Meta next = meta_;
  const auto lease = [&]() -> Result<void> {
    next = TRY(tables_.meta());
    next.epoch = Epoch(std::max(next.epoch, head_.epoch).value() + 1);
    return tables_.set_meta(next);
  };
  TRY(with_reserve([&] { return transact(lease); }));
  meta_ = std::move(next);
  CHECK(meta_.epoch > head_.epoch, "each term has a greater epoch");
  head_.epoch = meta_.epoch;
  return meta_.epoch;
}

Result<void> SqliteLog::insert(const std::vector<Batch>& batches, const ArchiveChange& archive) {
  const BatchSeq last = batches.empty() ? head_.last : batches.back().seq;
  for (const Batch& batch : batches) TRY(tables_.insert_batch(batch));
  for (const ArchiveEntry& entry : archive.put) TRY(tables_.put_entry(entry, last));
  for (const std::string& key : archive.remove) TRY(tables_.remove_entry(key));
  return {};
}

Result<void> SqliteLog::append(Epoch epoch, std::vector<Batch> batches,
                               const ArchiveChange& archive, Room room) {
  TRY(check_epoch(epoch, meta_.epoch));
  if (room == Room::kOrdinary && room_.is_short()) return disk_is_full();
  Head next = TRY(chain_batches(head_, epoch, batches));
  const auto keep = [&] { return write(epoch, [&] { return insert(batches, archive); }); };
  TRY(room == Room::kReserve ? with_reserve(keep) : keep());
  CHECK(next.next_event >= head_.next_event, "events are numbered upwards");
  head_ = std::move(next);
  if (!batches.empty()) head_file_.note(head_);
  room_.hold();
  return {};
}

Result<void> SqliteLog::save_snapshot(Epoch epoch, const Snapshot& snapshot) {
  if (snapshot.through > head_.last || snapshot.through < meta_.base.last) {
    return not_in_log(snapshot.through, head_.last);
  }
  StoredSnapshot stored;
  const Head at = TRY(sqlite::head_at(tables_, meta_.base, snapshot.through));
  CHECK(at.last == snapshot.through, "a snapshot carries the hash of its own batch");
  stored.snapshot = snapshot;
  stored.next_event = at.next_event;
  stored.batch_hash = at.hash;
  TRY(write(epoch, [&]() -> Result<void> {
    TRY(tables_.insert_snapshot(stored));
    return tables_.delete_older_snapshots();
  }));
  snapshot_.reset();
  return {};
}

Result<std::optional<Snapshot>> SqliteLog::load_snapshot() {
  if (snapshot_) return std::exchange(snapshot_, std::nullopt);
  for (const BatchSeq through : TRY(tables_.snapshots())) {
    std::optional<StoredSnapshot> stored = TRY(tables_.snapshot(through));
    if (stored && stored->good) return std::optional(std::move(stored->snapshot));
  }
  return std::optional<Snapshot>();
}

Result<void> SqliteLog::prune(Epoch epoch, BatchSeq through) {
  if (through <= meta_.base.last) return check_epoch(epoch, meta_.epoch);
  const std::vector<BatchSeq> snapshots = TRY(tables_.snapshots());
  const bool covered =
      snapshots.size() == static_cast<std::size_t>(kSnapshotsKept) && through <= snapshots.back();
  if (!covered) return not_covered(through);
  sqlite::Meta next = meta_;
  next.base = TRY(sqlite::head_at(tables_, meta_.base, through));
  CHECK(next.base.last > meta_.base.last, "pruning only ever drops more");
  TRY(write(epoch, [&]() -> Result<void> {
    TRY(tables_.set_meta(next));
    return tables_.delete_batches(through);
  }));
  meta_ = std::move(next);
  return {};
}

// ---- opening ---------------------------------------------------------------------------------

Result<sqlite::WalFindings> look_at_wal(const std::string& path) {
  const sqlite::WalFindings findings = TRY(sqlite::scan_wal(path + "-wal"));
  if (!findings.damage.empty()) return Error(Errc::kCorrupt, findings.damage);
  return findings;
}

// Damage to the note alone loses nothing; a log that is shorter than it says has lost its end.
Result<void> check_head(const std::string& path, Tables& tables, sqlite::Recovered& recovered) {
  const std::optional<Head> noted = sqlite::noted_head(path);
  if (noted) {
    return sqlite::check_reaches(tables, recovered.meta.base, recovered.head, *noted);
  }
  if (recovered.head.last > BatchSeq() && env::exists(sqlite::head_path(path))) {
    recovered.report.notices.push_back("The note of the last durable batch, " +
                                       sqlite::head_path(path) +
                                       ", was damaged and is written anew.");
  }
  return {};
}

// What a sync failed to write, here or in a life that was killed since, must not count as durable.
Result<void> make_durable(const std::string& path, const sqlite::WalFindings& read) {
  TRY(env::rewrite_file(path + "-wal"));
  if (TRY(look_at_wal(path)) == read) return {};
  return Error(Errc::kIo, "the end of the event log was read, and is not on the disk");
}

Result<std::unique_ptr<EventLog>> open_sound(const std::string& path) {
  const sqlite::WalFindings wal = TRY(look_at_wal(path));
  sqlite::OpenDatabase opened = TRY(sqlite::open_existing(path));
  TRY(sqlite::check_pages_are_there(opened.database, path, wal));
  sqlite::Recovered recovered = TRY(sqlite::recover(opened.tables));
  TRY(sqlite::look_at_archive(opened.tables));
  TRY(check_head(path, opened.tables, recovered));
  TRY(make_durable(path, wal));
  sqlite::HeadFile head_file = TRY(sqlite::HeadFile::open(path, recovered.head));
  if (wal.unfinished_frames > 0) {
    recovered.report.notices.push_back(
        "An unfinished write at the end of the event log was dropped (" +
        std::to_string(wal.unfinished_frames) +
        " pages): nobody had been told of it. The log ends "
        "at " +
        sqlite::name_of(recovered.head.last) + ".");
    // So that the next opening does not find the same remains again.
    TRY(opened.database.text("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  opened.database.on_close(sqlite::OnClose::kCheckpoint);
  return std::unique_ptr<EventLog>(std::make_unique<SqliteLog>(
      path, std::move(opened), std::move(recovered), std::move(head_file), sqlite::HeldRoom(path)));
}

// Creates the log where there is none. What else there is of one is what an accident leaves.
Result<void> create_if_missing(const std::string& path) {
  if (env::exists(path)) return {};
  TRY(sqlite::check_nothing_is_left(path));
  return sqlite::create_database(path);
}

Result<std::unique_ptr<EventLog>> open_or_create(const std::string& path) {
  TRY(create_if_missing(path));
  return open_sound(path);
}

Error with_copy(Error damage, const std::string& path, const env::Clock& clock) {
  const Result<std::string> copy =
      sqlite::copy_damaged(path, clock.wall(), sqlite::Again::kUseTheLast);
  const std::string kept =
      copy.ok() ? "a copy is in " + *copy : "it could not be copied: " + copy.error().to_string();
  return damage.with_hint(kept +
                          "; `runnel fsck` tells all that is wrong, and `runnel fsck "
                          "--repair` goes on with what is sound");
}

}  // namespace

Result<std::unique_ptr<EventLog>> open_sqlite_log(const std::string& path,
                                                  const env::Clock& clock) {
  TRY(sqlite::check_replaced(path));  // The repair has made a copy, when all was in its place.
  Result<std::unique_ptr<EventLog>> log = open_or_create(path);
  const bool full = !log.ok() && log.error().code == Errc::kFull;
  const sqlite::HeldRoom room(path);
  if (full && room.give_up()) {
    log = open_or_create(path);
    if (log.ok()) room.hold_given_up();
  }
  if (log.ok() || log.error().code != Errc::kCorrupt) return log;
  return with_copy(log.error(), path, clock);
}

}  // namespace runnel::store
