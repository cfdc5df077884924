#include "store/sqlite/fsck.h"

#include <utility>

#include "env/files.h"
#include "store/sqlite/detail/head_file.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/replacement.h"
#include "store/sqlite/detail/wal_scan.h"

namespace runnel::store {
namespace {

using sqlite::OpenDatabase;
using sqlite::StoredEntry;
using sqlite::StoredSnapshot;

// One full check. Each step adds what it finds and goes on: a report names all that is wrong.
class Check {
 public:
  Result<FsckReport> run(const std::string& path);

 private:
  void problem(std::string text);
  // Damage is a problem to report; what keeps us from looking is an error.
  Result<void> note(const Result<void>& step);
  Result<void> check_wal(const std::string& path);
  Result<void> check_pages(sqlite::Database& database);
  Result<void> check_meta(sqlite::Tables& tables);
  Result<void> check_batches(sqlite::Tables& tables);
  Result<void> check_snapshots(sqlite::Tables& tables);
  Result<void> check_snapshot(sqlite::Tables& tables, BatchSeq through);
  Result<void> check_archive(sqlite::Tables& tables);
  Result<void> check_head(const std::string& path, sqlite::Tables& tables);

  FsckReport report_;
  Head base_;
  Head head_;  // The end of the batches whose chain holds.
  sqlite::WalFindings wal_;
};

void Check::problem(std::string text) {
  if (report_.problems.size() + 1 < kFsckProblemsMax) {
    report_.problems.push_back(std::move(text));
  } else if (report_.problems.size() < kFsckProblemsMax) {
    report_.problems.emplace_back("There are more problems.");
  }
}

Result<void> Check::note(const Result<void>& step) {
  if (step.ok() || step.error().code != Errc::kCorrupt) return step;
  problem(step.error().message);
  return {};
}

Result<void> Check::check_wal(const std::string& path) {
  wal_ = TRY(sqlite::scan_wal(path + "-wal"));
  if (!wal_.damage.empty()) problem(wal_.damage);
  if (wal_.unfinished_frames > 0) {
    report_.notices.emplace_back(
        "There is an unfinished write at the end, which opening will drop.");
  }
  return {};
}

Result<void> Check::check_pages(sqlite::Database& database) {
  sqlite::Statement statement = TRY(database.prepare("PRAGMA integrity_check(100)"));
  sqlite::Query query(statement);
  while (TRY(query.step())) {
    const std::string line = query.text(0);
    if (line != "ok") problem("the database: " + line);
  }
  return {};
}

Result<void> Check::check_meta(sqlite::Tables& tables) {
  base_ = TRY(tables.meta()).base;
  return {};
}

Result<void> Check::check_batches(sqlite::Tables& tables) {
  bool sound = true;
  head_ = base_;
  report_.last = base_.last;
  return sqlite::verify_batches(
      tables, base_, [&](const Batch& batch, const Result<void>& verified) -> Result<bool> {
        if (report_.first == BatchSeq()) report_.first = batch.seq;
        TRY(note(verified));
        sound = sound && verified.ok();
        if (sound) report_.last = batch.seq;
        if (sound) head_ = {batch.seq, batch.next_event(), batch.hash, batch.epoch};
        return report_.problems.size() < kFsckProblemsMax;
      });
}

Result<void> Check::check_snapshot(sqlite::Tables& tables, BatchSeq through) {
  const std::optional<StoredSnapshot> stored = TRY(tables.snapshot(through));
  if (!stored || !stored->good) {
    problem("the snapshot of " + sqlite::name_of(through) + " is damaged");
    return {};
  }
  if (through != base_.last) {
    const std::optional<Batch> batch = TRY(tables.batch(through));
    if (!batch || batch->hash != stored->batch_hash) {
      problem("the snapshot of " + sqlite::name_of(through) + " does not fit that batch");
      return {};
    }
  }
  ++report_.snapshots;
  return {};
}

Result<void> Check::check_snapshots(sqlite::Tables& tables) {
  for (const BatchSeq through : TRY(tables.snapshots())) {
    TRY(note(check_snapshot(tables, through)));
  }
  return {};
}

Result<void> Check::check_archive(sqlite::Tables& tables) {
  return tables.each_entry([&](const StoredEntry& stored) -> Result<void> {
    if (stored.good) {
      if (!stored.entry.key.starts_with(kAboutAnother)) ++report_.archive_entries;
    } else {
      problem("the archive's record of '" + stored.entry.key + "' is damaged");
    }
    return {};
  });
}

// Nothing more is told where the chain breaks: that is told already.
Result<void> Check::check_head(const std::string& path, sqlite::Tables& tables) {
  const std::optional<Head> noted = sqlite::noted_head(path);
  if (!noted || !report_.sound()) return {};
  return sqlite::check_reaches(tables, base_, head_, *noted);
}

Result<FsckReport> Check::run(const std::string& path) {
  TRY(note(sqlite::check_replaced(path)));
  TRY(check_wal(path));
  if (!env::exists(path)) {
    TRY(note(sqlite::check_nothing_is_left(path)));
    return std::move(report_);
  }
  Result<OpenDatabase> opened = sqlite::open_existing(path);
  if (!opened.ok()) {
    TRY(note(opened.error()));
    return std::move(report_);
  }
  TRY(note(sqlite::check_pages_are_there(opened->database, path, wal_)));
  TRY(note(check_pages(opened->database)));
  TRY(note(check_meta(opened->tables)));
  TRY(note(check_batches(opened->tables)));
  TRY(note(check_snapshots(opened->tables)));
  TRY(note(check_archive(opened->tables)));
  TRY(note(check_head(path, opened->tables)));
  return std::move(report_);
}

}  // namespace

Result<FsckReport> fsck_sqlite_log(const std::string& path) {
  const bool nothing_is_left =
      sqlite::check_nothing_is_left(path).ok() && sqlite::check_replaced(path).ok();
  if (!env::exists(path) && nothing_is_left) {
    return Error(Errc::kNotFound, "there is no event log at " + path);
  }
  return Check().run(path);
}

}  // namespace runnel::store
