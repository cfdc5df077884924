#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "store/sqlite/detail/copies.h"
#include "store/sqlite/detail/head_file.h"
#include "store/sqlite/detail/loose_pages.h"
#include "store/sqlite/detail/open.h"
#include "store/sqlite/detail/replacement.h"
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
  Head in_tables;  // Up to here they are read from its tables, then from its loose pages.
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
  void look_at_snapshots();
  void look_at_pages();
  bool has_snapshot(BatchSeq through) const;
  Plan plan();
  Plan walk(const Head& base);
  void read_tables(Plan& plan);
  void read_pages(Plan& plan);
  std::optional<Batch> on_pages(const Head& head) const;
  bool is_more_on_pages(const Plan& plan) const;
  bool is_whole(const Plan& plan) const;
  Epoch next_epoch(const Plan& plan) const;
  Result<void> fill(Tables& target, const Plan& plan);
  Result<void> copy_batches(Tables& target, const Plan& plan);
  Result<void> copy_snapshots(Tables& target, const Plan& plan);
  Result<void> copy_archive(Tables& target, const Plan& plan);
  Result<void> copy_loose_entries(Tables& target, const Plan& plan, BatchSeq after);
  Result<void> copy_entry(Tables& target, const Plan& plan, const StoredEntry& stored);
  Result<void> build(const std::string& staged, const Plan& plan);
  Result<void> note(const Head& head);
  void tell_pages(const Plan& plan);
  void tell_batches(const Plan& plan);

  std::string path_;
  const env::Clock& clock_;
  std::optional<OpenDatabase> source_;       // Nothing when the file cannot even be opened.
  std::optional<Error> unopened_;            // Why.
  std::string unread_log_;                   // What is wrong with the write-ahead log; "": nothing.
  std::optional<sqlite::LoosePages> pages_;  // Once the tables do not give everything.
  std::optional<sqlite::Meta> meta_;         // Nothing when its row is damaged.
  Head base_;  // From the row of facts, also where only a page has it: then its epoch may be an
               // old one.
  std::set<std::string, std::less<>> keys_;  // Archive keys that were kept or named.
  std::vector<StoredSnapshot> snapshots_;    // Good ones, newest first.
  std::optional<Head> noted_;                // The last batch that is known to have been durable.
  Epoch highest_epoch_;
  RepairReport report_;
};

Head head_after(const Batch& batch) {
  return {batch.seq, batch.next_event(), batch.hash, batch.epoch};
}

std::string range_of(std::int64_t first, std::int64_t last) {
  if (first == last) return "batch " + std::to_string(first);
  return "batches " + std::to_string(first) + " to " + std::to_string(last);
}

// Opens what can be opened. A newer format is the only thing that a repair must keep its hands off.
Result<void> Repair::look() {
  const sqlite::WalFindings wal = TRY(sqlite::scan_wal(path_ + "-wal"));
  if (!wal.damage.empty()) unread_log_ = wal.damage;
  if (!env::exists(path_)) {
    unopened_ = Error(Errc::kCorrupt, "the database " + path_ + " is gone");
    return {};
  }
  Result<OpenDatabase> opened = sqlite::open_existing(path_);
  if (!opened.ok()) {
    if (opened.error().code != Errc::kCorrupt) return opened.error();
    unopened_ = opened.error();
    return {};
  }
  source_.emplace(std::move(*opened));
  if (Result<sqlite::Meta> meta = source_->tables.meta(); meta.ok()) meta_ = std::move(*meta);
  if (meta_) base_ = meta_->base;
  look_at_snapshots();
  return {};
}

void Repair::look_at_snapshots() {
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
}

// What the tables gave is among what the pages give, unless it is only on pages that are shifted in
// two ways.
void Repair::look_at_pages() {
  Result<sqlite::LoosePages> pages = sqlite::LoosePages::read(path_);
  if (!pages.ok()) {
    report_.dropped.push_back("What only single pages have: " + pages.error().message + ".");
    return;
  }
  pages_.emplace(std::move(*pages));
  if (const std::optional<sqlite::Meta> meta = pages_->meta(); meta && !meta_) base_ = meta->base;
  for (StoredSnapshot& found : pages_->snapshots()) {
    if (!has_snapshot(found.snapshot.through)) snapshots_.push_back(std::move(found));
  }
  std::sort(snapshots_.begin(), snapshots_.end(),
            [](const auto& a, const auto& b) { return a.snapshot.through > b.snapshot.through; });
}

bool Repair::has_snapshot(BatchSeq through) const {
  return std::any_of(snapshots_.begin(), snapshots_.end(),
                     [&](const StoredSnapshot& each) { return each.snapshot.through == through; });
}

void Repair::read_tables(Plan& plan) {
  if (!source_) {
    plan.stopped_by = unopened_;
    return;
  }
  const Result<void> read =
      sqlite::verify_batches(source_->tables, plan.base,
                             [&](const Batch& batch, const Result<void>& verified) -> Result<bool> {
                               highest_epoch_ = std::max(highest_epoch_, batch.epoch);
                               if (!verified.ok()) plan.stopped_by = verified.error();
                               if (verified.ok()) plan.end = plan.in_tables = head_after(batch);
                               return verified.ok();
                             });
  if (!read.ok()) plan.stopped_by = read.error();
}

// The batch that follows, as far as a page has it.
std::optional<Batch> Repair::on_pages(const Head& head) const {
  for (Batch& batch : pages_->batches(BatchSeq(head.last.value() + 1))) {
    if (verify_follows(batch, head.last, head.next_event, head.hash).ok()) return std::move(batch);
  }
  return std::nullopt;
}

bool Repair::is_more_on_pages(const Plan& plan) const { return pages_->last() > plan.end.last; }

void Repair::read_pages(Plan& plan) {
  while (const std::optional<Batch> batch = on_pages(plan.end)) {
    highest_epoch_ = std::max(highest_epoch_, batch->epoch);
    plan.end = head_after(*batch);
  }
  const bool is_noted_there = noted_ && plan.end.last >= noted_->last;
  if (is_noted_there && !is_more_on_pages(plan)) plan.stopped_by.reset();
}

// The longest run of sound batches that follows `base`.
Plan Repair::walk(const Head& base) {
  Plan plan{base, base, base, std::nullopt};
  read_tables(plan);
  if (pages_) read_pages(plan);
  return plan;
}

bool Repair::is_whole(const Plan& plan) const {
  return !plan.stopped_by && !(noted_ && noted_->last > plan.end.last) && unread_log_.empty();
}

// From the start, or from the newest snapshot from which on all is sound, if that leads further.
Plan Repair::plan() {
  Plan best = walk(base_);
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

// Where the tables give nothing, the first page of what they have need not be readable.
Result<void> Repair::copy_batches(Tables& target, const Plan& plan) {
  if (plan.in_tables.last > plan.base.last) {
    TRY(source_->tables.each_batch(plan.base.last, [&](const Batch& batch) -> Result<bool> {
      CHECK(batch.seq > plan.base.last, "what is dropped is not copied");
      TRY(target.insert_batch(batch));
      return batch.seq < plan.in_tables.last;
    }));
  }
  Head head = plan.in_tables;
  while (head.last < plan.end.last) {
    const std::optional<Batch> batch = on_pages(head);
    CHECK(batch.has_value(), "what was found once is found again");
    TRY(target.insert_batch(*batch));
    head = head_after(*batch);
  }
  return {};
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

Result<void> Repair::copy_entry(Tables& target, const Plan& plan, const StoredEntry& stored) {
  if (!keys_.insert(stored.entry.key).second) return {};
  if (stored.good && stored.batch <= plan.end.last) {
    return target.put_entry(stored.entry, stored.batch);
  }
  report_.dropped.push_back(
      "The archive's record of '" + stored.entry.key +
      "': " + (stored.good ? "it is of a batch that is not kept." : "it is damaged."));
  return {};
}

// From the pages only what the tables do not give: they may have what was removed.
Result<void> Repair::copy_archive(Tables& target, const Plan& plan) {
  Result<void> written;
  Result<void> read = unopened_ ? Result<void>(*unopened_) : Result<void>();
  if (source_) {
    read = source_->tables.each_entry([&](const StoredEntry& stored) -> Result<void> {
      return written = copy_entry(target, plan, stored);
    });
  }
  TRY(Result<void>(written));
  if (!read.ok() && !pages_) look_at_pages();
  if (pages_) TRY(copy_loose_entries(target, plan, read.ok() ? plan.in_tables.last : BatchSeq()));
  if (read.ok()) return {};
  report_.dropped.push_back("What no whole page has of the archive: " + read.error().message + ".");
  return {};
}

Result<void> Repair::copy_loose_entries(Tables& target, const Plan& plan, BatchSeq after) {
  for (const StoredEntry& stored : pages_->entries()) {
    if (stored.batch > after) TRY(copy_entry(target, plan, stored));
  }
  return {};
}

Result<void> Repair::fill(Tables& target, const Plan& plan) {
  sqlite::Meta meta;
  meta.base = plan.base;
  meta.epoch = next_epoch(plan);
  CHECK(meta.epoch >= plan.end.epoch, "a repaired log grants no epoch a second time");
  TRY(target.set_meta(meta));
  TRY(copy_batches(target, plan));
  TRY(copy_snapshots(target, plan));
  return copy_archive(target, plan);
}

Result<void> Repair::build(const std::string& staged, const Plan& plan) {
  // An interrupted repair may have left these; an old write-ahead log would be taken for the new
  // database's.
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

// An interruption before this leaves a log that seems to have lost its end: it is repaired again.
Result<void> Repair::note(const Head& head) {
  TRY(env::remove_file(sqlite::head_path(path_)));
  if (head.last == BatchSeq()) return {};
  (void)TRY(sqlite::HeadFile::open(path_, head));
  return {};
}

void Repair::tell_pages(const Plan& plan) {
  if (!unread_log_.empty()) {
    report_.dropped.push_back("What no whole page has behind this: " + unread_log_ + ".");
  }
  if (plan.end.last > plan.in_tables.last) {
    report_.dropped.push_back(
        "What the archive got with " +
        range_of(plan.in_tables.last.value() + 1, plan.end.last.value()) +
        " and no whole page has: they were read from single pages of the database.");
  }
}

void Repair::tell_batches(const Plan& plan) {
  if (unopened_ && plan.end.last == BatchSeq()) {
    report_.dropped.push_back("Everything: " + unopened_->message + ".");
    report_.lost_end = true;
    return;
  }
  tell_pages(plan);
  const std::int64_t first = base_.last.value() + 1;
  const std::int64_t base = plan.base.last.value();
  if (base >= first) {
    report_.dropped.push_back("The history of " + range_of(first, base) + ": the snapshot of " +
                              sqlite::name_of(plan.base.last) + " holds the state they led to.");
  }
  report_.lost_end = plan.stopped_by || (noted_ && noted_->last > plan.end.last);
  if (plan.stopped_by) {
    report_.dropped.push_back("All batches from " + std::to_string(plan.end.last.value() + 1) +
                              " on: " + plan.stopped_by->message + ".");
  } else if (report_.lost_end) {
    const std::int64_t lost = plan.end.last.value() + 1;
    report_.dropped.push_back(
        "What the log has lost already: " + range_of(lost, noted_->last.value()) + ".");
  }
}

Result<RepairReport> Repair::run() {
  TRY(sqlite::undo_interrupted_replacement(path_));
  noted_ = sqlite::noted_head(path_);
  report_.copy = TRY(sqlite::copy_damaged(path_, clock_.wall(), sqlite::Again::kCopy));
  TRY(look());
  Plan chosen = plan();
  if (!is_whole(chosen)) {
    look_at_pages();
    chosen = plan();
  }
  CHECK(chosen.base.last <= chosen.end.last, "a run of batches ends after it began");
  tell_batches(chosen);
  TRY(build(sqlite::staged_path(path_), chosen));
  source_.reset();
  TRY(sqlite::replace_database(path_));
  TRY(note(chosen.end));
  report_.last = chosen.end.last;
  if (chosen.end.last > chosen.base.last) report_.first = BatchSeq(chosen.base.last.value() + 1);
  return std::move(report_);
}

}  // namespace

Result<RepairReport> repair_sqlite_log(const std::string& path, const env::Clock& clock) {
  return Repair(path, clock).run();
}

}  // namespace runnel::store
