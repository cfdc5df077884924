#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "store/sqlite/detail/copies.h"
#include "store/sqlite/detail/head_file.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/wal_scan.h"
#include "store/sqlite/fsck.h"

namespace runnel::store {
namespace {

using sqlite::OpenDatabase;
using sqlite::StoredEntry;
using sqlite::StoredSnapshot;
using sqlite::Tables;

// What the new log will hold: the batches from `base` (exclusive) to `end`.
struct Plan {
  Head base;
  Head end;
  std::optional<Error> stopped_by;  // Why the batches end there; nothing when all are sound.
};

// Reads what is sound out of a damaged log into a new one.
class Repair {
 public:
  Repair(std::string path, const env::Clock& clock) : path_(std::move(path)), clock_(clock) {}

  Result<RepairReport> run();

 private:
  Result<void> look();
  Result<Plan> plan();
  Plan walk(const Head& base);
  Epoch next_epoch(const Plan& plan) const;
  Result<void> fill(Tables& target, const Plan& plan);
  Result<void> copy_batches(Tables& target, const Plan& plan);
  Result<void> copy_snapshots(Tables& target, const Plan& plan);
  Result<void> copy_archive(Tables& target, const Plan& plan);
  Result<void> build(const std::string& staged, const Plan& plan);
  Result<void> replace(const std::string& staged);
  Result<void> note(const Head& head);
  void tell_batches(const Plan& plan);

  std::string path_;
  const env::Clock& clock_;
  std::optional<OpenDatabase> source_;     // Nothing when the file cannot even be opened.
  std::optional<sqlite::Meta> meta_;       // Nothing when its row is damaged.
  std::vector<StoredSnapshot> snapshots_;  // Good ones, newest first.
  std::optional<Head> noted_;              // The last batch that is known to have been durable.
  Epoch highest_epoch_;
  RepairReport report_;
};

std::string range_of(std::int64_t first, std::int64_t last) {
  if (first == last) return "batch " + std::to_string(first);
  return "batches " + std::to_string(first) + " to " + std::to_string(last);
}

// Opens what can be opened. A newer format is the only thing that a repair must keep its hands off.
Result<void> Repair::look() {
  const sqlite::WalFindings wal = TRY(sqlite::scan_wal(path_ + "-wal"));
  if (!wal.damage.empty()) report_.dropped.push_back("What is behind this: " + wal.damage + ".");
  if (!env::exists(path_)) {
    report_.dropped.push_back("Everything: the database " + path_ + " is gone.");
    return {};
  }
  Result<OpenDatabase> opened = sqlite::open_existing(path_);
  if (!opened.ok()) {
    if (opened.error().code != Errc::kCorrupt) return opened.error();
    report_.dropped.push_back("Everything: " + opened.error().message + ".");
    return {};
  }
  source_.emplace(std::move(*opened));
  if (Result<sqlite::Meta> meta = source_->tables.meta(); meta.ok()) meta_ = std::move(*meta);
  const std::vector<BatchSeq> throughs =
      source_->tables.snapshots().value_or(std::vector<BatchSeq>());
  for (const BatchSeq through : throughs) {
    Result<std::optional<StoredSnapshot>> stored = source_->tables.snapshot(through);
    if (stored.ok() && stored->has_value() && (**stored).good) {
      snapshots_.push_back(std::move(**stored));
    } else {
      report_.dropped.push_back("The snapshot of " + sqlite::name_of(through) + ": it is damaged.");
    }
  }
  return {};
}

// The longest run of sound batches that follows `base`.
Plan Repair::walk(const Head& base) {
  Plan plan{base, base, std::nullopt};
  const Result<void> read = sqlite::verify_batches(
      source_->tables, base, [&](const Batch& batch, const Result<void>& verified) -> Result<bool> {
        highest_epoch_ = std::max(highest_epoch_, batch.epoch);
        if (!verified.ok()) plan.stopped_by = verified.error();
        if (verified.ok()) plan.end = {batch.seq, batch.next_event(), batch.hash, batch.epoch};
        return verified.ok();
      });
  if (!read.ok()) plan.stopped_by = read.error();
  return plan;
}

// From the start, or from the newest snapshot from which on all is sound, if that leads further.
Result<Plan> Repair::plan() {
  if (!source_) return Plan();
  Plan best = walk(meta_ ? meta_->base : Head());
  for (const StoredSnapshot& snapshot : snapshots_) {
    if (!best.stopped_by) break;
    Plan other = walk(snapshot.head());
    if (other.end.last > best.end.last) best = std::move(other);
  }
  return best;
}

// Greater than any that was ever given out. When the row that knows is damaged, seconds since 1970
// are: epochs grow by one with each start of a daemon.
Epoch Repair::next_epoch(const Plan& plan) const {
  const Epoch seen = std::max({highest_epoch_, plan.end.epoch, noted_ ? noted_->epoch : Epoch()});
  if (meta_) return std::max(meta_->epoch, seen);
  return std::max(Epoch(clock_.wall().millis() / 1000), seen);
}

// Where nothing is kept, the first page of what there is need not be readable.
Result<void> Repair::copy_batches(Tables& target, const Plan& plan) {
  if (plan.end.last == plan.base.last) return {};
  return source_->tables.each_batch(plan.base.last, [&](const Batch& batch) -> Result<bool> {
    if (batch.seq > plan.end.last) return false;
    CHECK(batch.seq > plan.base.last, "what is dropped is not copied");
    TRY(target.insert_batch(batch));
    return batch.seq < plan.end.last;
  });
}

Result<void> Repair::copy_snapshots(Tables& target, const Plan& plan) {
  for (const StoredSnapshot& snapshot : snapshots_) {
    const BatchSeq through = snapshot.snapshot.through;
    if (through >= plan.base.last && through <= plan.end.last) {
      TRY(target.insert_snapshot(snapshot));
    } else {
      report_.dropped.push_back("The snapshot of " + sqlite::name_of(through) +
                                ": that batch is not kept.");
    }
  }
  return {};
}

Result<void> Repair::copy_archive(Tables& target, const Plan& plan) {
  Result<void> written;
  const Result<void> read =
      source_->tables.each_entry([&](const StoredEntry& stored) -> Result<void> {
        const bool keep = stored.good && stored.batch <= plan.end.last;
        if (keep) return written = target.put_entry(stored.entry, stored.batch);
        report_.dropped.push_back(
            "The archive's record of '" + stored.entry.key +
            "': " + (stored.good ? "it is of a batch that is not kept." : "it is damaged."));
        return {};
      });
  if (!written.ok()) return written;
  if (!read.ok()) {
    report_.dropped.push_back("The rest of the archive: " + read.error().message + ".");
  }
  return {};
}

Result<void> Repair::fill(Tables& target, const Plan& plan) {
  sqlite::Meta meta;
  meta.base = plan.base;
  meta.epoch = next_epoch(plan);
  CHECK(meta.epoch >= plan.end.epoch, "a repaired log grants no epoch a second time");
  TRY(target.set_meta(meta));
  if (!source_) return {};
  TRY(copy_batches(target, plan));
  TRY(copy_snapshots(target, plan));
  return copy_archive(target, plan);
}

Result<void> Repair::build(const std::string& staged, const Plan& plan) {
  // What an interrupted repair left; an old write-ahead log would be taken for the new database's.
  for (const char* suffix : {"", "-wal", "-shm"}) TRY(env::remove_file(staged + suffix));
  TRY(sqlite::create_database(staged));
  OpenDatabase opened = TRY(sqlite::open_existing(staged));
  sqlite::Transaction transaction = TRY(sqlite::Transaction::begin(opened.database));
  TRY(fill(opened.tables, plan));
  TRY(transaction.commit());
  TRY(opened.database.text("PRAGMA wal_checkpoint(TRUNCATE)"));
  opened.database.on_close(sqlite::OnClose::kCheckpoint);
  return {};
}

// The old write-ahead log goes first: next to the new database it would be taken for its own. What
// is lost between the two steps is in the copy.
Result<void> Repair::replace(const std::string& staged) {
  source_.reset();
  TRY(env::remove_file(path_ + "-wal"));
  TRY(env::remove_file(path_ + "-shm"));
  return env::rename_file(staged, path_);
}

// An interruption before this leaves a log that seems to have lost its end: it is repaired again.
Result<void> Repair::note(const Head& head) {
  TRY(env::remove_file(sqlite::head_path(path_)));
  if (head.last == BatchSeq()) return {};
  (void)TRY(sqlite::HeadFile::open(path_, head));
  return {};
}

void Repair::tell_batches(const Plan& plan) {
  const std::int64_t first = meta_ ? meta_->base.last.value() + 1 : 1;
  const std::int64_t base = plan.base.last.value();
  if (base >= first) {
    report_.dropped.push_back("The history of " + range_of(first, base) + ": the snapshot of " +
                              sqlite::name_of(plan.base.last) + " holds the state they led to.");
  }
  if (plan.stopped_by) {
    report_.dropped.push_back("All batches from " + std::to_string(plan.end.last.value() + 1) +
                              " on: " + plan.stopped_by->message + ".");
  } else if (noted_ && noted_->last > plan.end.last) {
    const std::int64_t lost = plan.end.last.value() + 1;
    report_.dropped.push_back(
        "What the log has lost already: " + range_of(lost, noted_->last.value()) + ".");
  }
}

Result<RepairReport> Repair::run() {
  noted_ = sqlite::noted_head(path_);
  report_.copy = TRY(sqlite::copy_damaged(path_, clock_.wall(), sqlite::Again::kCopy));
  TRY(look());
  const Plan chosen = TRY(plan());
  CHECK(chosen.base.last <= chosen.end.last, "a run of batches ends after it began");
  tell_batches(chosen);
  const std::string staged = path_ + ".repaired";
  TRY(build(staged, chosen));
  TRY(replace(staged));
  TRY(note(chosen.end));
  report_.last = chosen.end.last;
  if (chosen.end.last > chosen.base.last) report_.first = BatchSeq(chosen.base.last.value() + 1);
  return std::move(report_);
}

}  // namespace

Result<RepairReport> repair_sqlite_log(const std::string& path, const env::Clock& clock) {
  if (!env::exists(path) && sqlite::check_nothing_is_left(path).ok()) {
    return Error(Errc::kNotFound, "there is no event log at " + path);
  }
  return Repair(path, clock).run();
}

}  // namespace runnel::store
