#include "store/sqlite/detail/open.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "store/sqlite/detail/head_file.h"

namespace runnel::store::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x52554E4C;  // "RUNL"

constexpr const char* kSettings =
    "PRAGMA synchronous = FULL;"
    "PRAGMA cell_size_check = ON;"  // Malformed pages are errors, not surprises.
    "PRAGMA trusted_schema = OFF;"
    "PRAGMA temp_store = MEMORY;"
    "PRAGMA cache_size = -8000;"
    "PRAGMA wal_autocheckpoint = 2000;"       // 8 MB: seldom enough to cost little.
    "PRAGMA journal_size_limit = 67108864;";  // A big transaction's log is cut again afterwards.

constexpr const char* kSchema =
    "CREATE TABLE meta (id INTEGER PRIMARY KEY, format INTEGER NOT NULL, epoch INTEGER NOT NULL,"
    " base_seq INTEGER NOT NULL, base_event INTEGER NOT NULL, base_hash TEXT NOT NULL,"
    " checksum INTEGER NOT NULL);"
    "CREATE TABLE batch (seq INTEGER PRIMARY KEY, first_event INTEGER NOT NULL,"
    " event_count INTEGER NOT NULL, epoch INTEGER NOT NULL, now INTEGER NOT NULL,"
    " input TEXT NOT NULL, events TEXT NOT NULL, hash TEXT NOT NULL);"
    "CREATE TABLE snapshot (seq INTEGER PRIMARY KEY, next_event INTEGER NOT NULL,"
    " batch_hash TEXT NOT NULL, text TEXT NOT NULL, checksum INTEGER NOT NULL);"
    "CREATE TABLE archive (key TEXT PRIMARY KEY NOT NULL, sort_key TEXT NOT NULL,"
    " text TEXT NOT NULL, batch INTEGER NOT NULL, checksum INTEGER NOT NULL);"
    "CREATE INDEX archive_by_sort_key ON archive (sort_key, key);";

Result<void> build(const std::string& path) {
  Database database = TRY(Database::open(path, Database::Mode::kCreate));
  TRY(database.execute(kSettings));
  TRY(database.text("PRAGMA journal_mode = WAL"));
  Transaction transaction = TRY(Transaction::begin(database));
  TRY(database.execute(kSchema));
  const std::string marks = "PRAGMA application_id = " + std::to_string(kApplicationId) +
                            "; PRAGMA user_version = " + std::to_string(kFormatVersion);
  TRY(database.execute(marks.c_str()));
  Tables tables = TRY(Tables::prepare(database));
  TRY(tables.set_meta(Meta()));
  return transaction.commit();
}

Error newer_format(std::int64_t format) {
  Error error(Errc::kUnsupported, "this event log has format " + std::to_string(format) +
                                      ", and this version of runnel reads formats up to " +
                                      std::to_string(kFormatVersion));
  return error.with_hint("use the newer version of runnel that wrote it");
}

// Pages from `first` to `last` that the write-ahead log does not hold.
std::int64_t missing_pages(std::int64_t first, std::int64_t last, const WalFindings& wal) {
  std::int64_t missing = 0;
  for (std::int64_t page = first; page <= last; ++page) {
    if (!std::binary_search(wal.pages.begin(), wal.pages.end(), page)) ++missing;
  }
  return missing;
}

Result<void> check_marks(Database& database) {
  const std::int64_t application = TRY(database.integer("PRAGMA application_id"));
  if (application != kApplicationId) {
    return Error(Errc::kCorrupt,
                 "the database is not an event log of runnel, or its header is "
                 "damaged");
  }
  const std::int64_t format = TRY(database.integer("PRAGMA user_version"));
  if (format > kFormatVersion) return newer_format(format);
  return {};
}

// The newest snapshot whose checksum holds. What it has to skip is told.
Result<std::optional<StoredSnapshot>> newest_snapshot(Tables& tables, OpenReport& report) {
  for (const BatchSeq through : TRY(tables.snapshots())) {
    Result<std::optional<StoredSnapshot>> stored = tables.snapshot(through);
    if (!stored.ok() && stored.error().code != Errc::kCorrupt) return stored.error();
    if (stored.ok() && stored->has_value() && (**stored).good) return stored;
    report.notices.push_back("The snapshot of " + name_of(through) +
                             " is damaged and was passed over: an older one and the batches after "
                             "it take its place.");
  }
  return std::optional<StoredSnapshot>();
}

Result<Head> verify_from(Tables& tables, const Head& start) {
  Head head = start;
  TRY(verify_batches(tables, start,
                     [&](const Batch& batch, const Result<void>& verified) -> Result<bool> {
                       TRY(Result<void>(verified));
                       head = {batch.seq, batch.next_event(), batch.hash, batch.epoch};
                       return true;
                     }));
  return head;
}

// A snapshot may be kept of what was pruned up to, but not of what is no longer or not yet there.
Result<Head> start_of(Tables& tables, const Meta& meta,
                      const std::optional<StoredSnapshot>& snapshot) {
  if (!snapshot) {
    if (meta.base.last == BatchSeq()) return meta.base;
    return Error(Errc::kCorrupt, "the event log was pruned up to " + name_of(meta.base.last) +
                                     " and has no good snapshot");
  }
  const BatchSeq through = snapshot->snapshot.through;
  if (through == meta.base.last) return snapshot->head();
  const std::optional<Batch> batch = TRY(tables.batch(through));
  const bool matches = batch && batch->hash == snapshot->batch_hash;
  if (matches) return snapshot->head();
  Error error(Errc::kCorrupt, name_of(through) + " of the event log is " +
                                  (batch ? "damaged" : "missing") +
                                  ": the snapshot at it has another hash");
  return error.with_value(std::to_string(through.value()));
}

}  // namespace

Result<void> create_database(const std::string& path) {
  const std::string staged = path + ".new";
  for (const char* suffix : {"", "-wal", "-shm"}) TRY(env::remove_file(staged + suffix));
  TRY(build(staged));
  return env::rename_file(staged, path);
}

Result<OpenDatabase> open_existing(const std::string& path) {
  Database database = TRY(Database::open(path, Database::Mode::kExisting));
  database.on_close(OnClose::kLeave);
  TRY(database.execute(kSettings));
  TRY(check_marks(database));
  Tables tables = TRY(Tables::prepare(database));
  return OpenDatabase{std::move(database), std::move(tables)};
}

Result<void> check_nothing_is_left(const std::string& path) {
  const std::string gone = "the event log's database " + path + " is gone, and ";
  if (const std::optional<Head> noted = noted_head(path)) {
    return Error(Errc::kCorrupt, gone + name_of(noted->last) + " of it was durable");
  }
  if (env::exists(path + "-wal")) {
    return Error(Errc::kCorrupt, gone + "its write-ahead log is still there");
  }
  const Result<env::FileInfo> head = env::file_info(head_path(path));
  if (!head.ok() || head->size.is_zero()) return {};
  return Error(Errc::kCorrupt, gone + "the note of its last batch, " + head_path(path) +
                                   ", is still there, and damaged");
}

// Beside a write-ahead log a page that was never used need not be written anywhere, so what is
// missing is looked at closely before anybody is accused.
Result<void> check_pages_are_there(Database& database, const std::string& path,
                                   const WalFindings& wal) {
  const std::int64_t pages = TRY(database.integer("PRAGMA page_count"));
  const std::int64_t page_size = TRY(database.integer("PRAGMA page_size"));
  const env::FileInfo file = TRY(env::file_info(path));
  CHECK(page_size > 0, "an open database has a page size");
  const std::int64_t missing = missing_pages(file.size.count() / page_size + 1, pages, wal);
  if (missing == 0) return {};
  const Result<std::string> found =
      wal.pages.empty() ? std::string() : database.text("PRAGMA quick_check(1)");
  if (found.ok() && *found == "ok") return {};
  return Error(Errc::kCorrupt, "the event log's database " + path + " is cut to " +
                                   std::to_string(file.size.count()) + " of " +
                                   std::to_string(pages * page_size) + " bytes, and " +
                                   std::to_string(missing) + " of its " + std::to_string(pages) +
                                   " pages are nowhere");
}

Result<void> look_at_archive(Tables& tables) {
  TRY(tables.keys("", 1));
  TRY(tables.entries_below(after_prefix(""), "", "", 1));
  return {};
}

Result<Recovered> recover(Tables& tables) {
  Recovered out;
  out.meta = TRY(tables.meta());
  if (out.meta.format > kFormatVersion) return newer_format(out.meta.format);
  std::optional<StoredSnapshot> snapshot = TRY(newest_snapshot(tables, out.report));
  out.head = TRY(verify_from(tables, TRY(start_of(tables, out.meta, snapshot))));
  out.head.epoch = std::max(out.meta.epoch, out.head.epoch);
  CHECK(out.head.last >= out.meta.base.last, "the chain ends after what was pruned");
  if (snapshot) out.snapshot = std::move(snapshot->snapshot);
  return out;
}

}  // namespace runnel::store::sqlite
