#include "store/memory/memory_log.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "store/checks.h"

namespace runnel::store {
namespace {

// The end of what appends that ended have written to the storage.
auto end_of(const MemoryStorage& disk) {
  CHECK(disk.torn_batches <= std::ssize(disk.batches), "a torn append left the batches it counts");
  return std::prev(disk.batches.end(), static_cast<std::ptrdiff_t>(disk.torn_batches));
}

// The head as it was after this batch, which is there or was the last to be pruned.
Head head_at(const MemoryStorage& disk, std::int64_t seq) {
  if (seq == disk.base.last.value()) return disk.base;
  const auto found = disk.batches.find(seq);
  CHECK(found != disk.batches.end(), "recovery has seen that no batch is missing");
  const Batch& batch = found->second;
  return {batch.seq, batch.next_event(), batch.hash, batch.epoch};
}

Head head_of(const MemoryStorage& disk) {
  const auto end = end_of(disk);
  Head head = end == disk.batches.begin() ? disk.base : head_at(disk, std::prev(end)->first);
  head.epoch = disk.epoch;
  return head;
}

bool follows(const ArchiveEntry& entry, const PagePlace& place) {
  return std::pair(entry.sort_key, entry.key) < std::pair(place.sort_key, place.key);
}

class MemoryReader final : public LogReader {
 public:
  // `mutex` is held by whoever uses `disk`.
  MemoryReader(std::shared_ptr<MemoryStorage> disk, std::shared_ptr<std::recursive_mutex> mutex)
      : disk_(std::move(disk)), mutex_(std::move(mutex)) {
    CHECK(disk_ != nullptr && mutex_ != nullptr, "a reader without a storage");
  }

  Result<Kept> kept() override {
    const std::lock_guard<std::recursive_mutex> lock(*mutex_);
    return Kept{disk_->base, head_of(*disk_)};
  }
  Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) override;
  Result<Batch> find(EventSeq event) override;
  Result<ArchiveEntry> archived(std::string_view key) override;
  Result<ArchivePage> list_archive(const ArchiveQuery& query) override;
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override;

 private:
  const std::shared_ptr<MemoryStorage> disk_;
  const std::shared_ptr<std::recursive_mutex> mutex_;
};

Result<std::vector<Batch>> MemoryReader::read(BatchSeq after, std::int64_t limit) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  if (after < disk_->base.last) {
    return pruned("batch " + std::to_string(after.value() + 1), disk_->base.last);
  }
  std::vector<Batch> out;
  std::int64_t bytes = 0;
  limit = std::min(limit, kReadBatchesMax);
  const auto end = end_of(*disk_);
  for (auto next = disk_->batches.upper_bound(after.value()); next != end; ++next) {
    const Batch& batch = next->second;
    bytes += static_cast<std::int64_t>(batch.input.size() + batch.events.size());
    const bool full = !out.empty() && bytes > kReadBytesMax.count();
    if (full || static_cast<std::int64_t>(out.size()) >= limit) break;
    const Head before = head_at(*disk_, batch.seq.value() - 1);
    TRY(verify_follows(batch, before.last, before.next_event, before.hash));
    out.push_back(batch);
  }
  return out;
}

Result<Batch> MemoryReader::find(EventSeq event) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  const EventSeq next = head_of(*disk_).next_event;
  if (event >= next) return no_such_event(event, next);
  if (event < disk_->base.next_event) {
    return pruned("event " + std::to_string(event.value()), disk_->base.last);
  }
  for (const auto& [seq, batch] : disk_->batches) {
    if (event < batch.next_event()) return batch;
  }
  CHECK(false, "an event before the head is in a batch");
  return Batch();
}

Result<ArchiveEntry> MemoryReader::archived(std::string_view key) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  const auto found = disk_->archive.find(std::string(key));
  if (found == disk_->archive.end()) return no_such_key(key);
  return found->second;
}

Result<ArchivePage> MemoryReader::list_archive(const ArchiveQuery& query) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  std::optional<PagePlace> place;
  if (!query.page_token.empty()) place = TRY(parse_page_token(query.page_token));
  std::vector<ArchiveEntry> all;
  for (const auto& [key, entry] : disk_->archive) {
    if (!entry.sort_key.starts_with(query.sort_prefix)) continue;
    if (!place || follows(entry, *place)) all.push_back(entry);
  }
  std::sort(all.begin(), all.end(), [](const ArchiveEntry& a, const ArchiveEntry& b) {
    return std::pair(a.sort_key, a.key) > std::pair(b.sort_key, b.key);
  });
  ArchivePage page;
  const auto limit =
      static_cast<std::size_t>(std::clamp<std::int64_t>(query.limit, 1, kArchivePageMax));
  const bool more = all.size() > limit;
  if (more) all.resize(limit);
  if (more) page.next_token = page_token({all.back().sort_key, all.back().key});
  page.entries = std::move(all);
  return page;
}

Result<std::vector<std::string>> MemoryReader::archive_keys(std::string_view prefix,
                                                            std::int64_t limit) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  std::vector<std::string> keys;
  limit = std::min(limit, kArchivePageMax);
  auto next = disk_->archive.lower_bound(std::string(prefix));
  for (; next != disk_->archive.end() && next->first.starts_with(prefix); ++next) {
    if (static_cast<std::int64_t>(keys.size()) >= limit) break;
    keys.push_back(next->first);
  }
  return keys;
}

class MemoryConnection final : public LogConnection {
 public:
  MemoryConnection(std::shared_ptr<MemoryStorage> disk, std::shared_ptr<std::recursive_mutex> mutex)
      : mutex_(mutex), reader_(std::move(disk), std::move(mutex)) {}

 private:
  Result<void> at_one_moment(const std::function<void(LogReader&)>& look) override {
    const std::lock_guard<std::recursive_mutex> lock(*mutex_);
    look(reader_);
    return {};
  }

  const std::shared_ptr<std::recursive_mutex> mutex_;
  MemoryReader reader_;
};

class MemoryLog final : public EventLog {
 public:
  explicit MemoryLog(std::shared_ptr<MemoryStorage> storage) : disk_(std::move(storage)) {}

  Result<void> recover();

  const OpenReport& open_report() const override { return report_; }
  Head head() const override { return head_; }
  Head base() const override { return disk_->base; }
  Result<Epoch> acquire_lease() override;
  using EventLog::append;
  Result<void> append(Epoch epoch, std::vector<Batch> batches, const ArchiveChange& archive,
                      Room room) override;
  bool is_short_of_room() override { return false; }
  Result<std::unique_ptr<LogConnection>> connect() override {
    return std::unique_ptr<LogConnection>(std::make_unique<MemoryConnection>(disk_, mutex_));
  }
  Result<std::vector<Batch>> read(BatchSeq after, std::int64_t limit) override {
    return reader_.read(after, limit);
  }
  Result<Batch> find(EventSeq event) override { return reader_.find(event); }
  Result<void> save_snapshot(Epoch epoch, const Snapshot& snapshot) override;
  Result<std::optional<Snapshot>> load_snapshot() override;
  Result<ArchiveEntry> archived(std::string_view key) override { return reader_.archived(key); }
  Result<ArchivePage> list_archive(const ArchiveQuery& query) override {
    return reader_.list_archive(query);
  }
  Result<std::vector<std::string>> archive_keys(std::string_view prefix,
                                                std::int64_t limit) override {
    return reader_.archive_keys(prefix, limit);
  }
  Result<void> prune(Epoch epoch, BatchSeq through) override;

 private:
  void drop_torn_tail();
  Result<void> fail(AppendFault fault, std::vector<Batch> batches, const ArchiveChange& archive);
  void keep(std::vector<Batch> batches);
  void change_archive(const ArchiveChange& change);

  const std::shared_ptr<MemoryStorage> disk_;
  // Guards `disk_`; recursive, since a connection holds it over all that one moment is asked.
  const std::shared_ptr<std::recursive_mutex> mutex_ = std::make_shared<std::recursive_mutex>();
  MemoryReader reader_{disk_, mutex_};
  OpenReport report_;
  Head head_;
  bool broken_ = false;
};

void MemoryLog::drop_torn_tail() {
  if (disk_->torn_batches == 0) return;
  report_.notices.emplace_back("An unfinished write at the end of the event log was dropped.");
  for (; disk_->torn_batches > 0; --disk_->torn_batches) {
    CHECK(!disk_->batches.empty(), "a torn append left the batches it counts");
    disk_->batches.erase(std::prev(disk_->batches.end()));
  }
}

Result<void> MemoryLog::recover() {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  drop_torn_tail();
  head_ = disk_->base;
  for (const auto& [seq, batch] : disk_->batches) {
    TRY(verify_follows(batch, head_.last, head_.next_event, head_.hash));
    head_ = head_at(*disk_, seq);
  }
  head_.epoch = disk_->epoch;
  return {};
}

Result<Epoch> MemoryLog::acquire_lease() {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  disk_->epoch = Epoch(disk_->epoch.value() + 1);
  head_.epoch = disk_->epoch;
  return disk_->epoch;
}

Result<void> MemoryLog::fail(AppendFault fault, std::vector<Batch> batches,
                             const ArchiveChange& archive) {
  if (fault == AppendFault::kFull) return Error(Errc::kFull, "no space left on the disk");
  broken_ = true;
  if (fault == AppendFault::kTorn) {
    disk_->torn_batches = static_cast<std::int64_t>(batches.size());
    keep(std::move(batches));
  } else if (fault == AppendFault::kKept) {
    keep(std::move(batches));
    change_archive(archive);
  }
  return disk_->next_error;
}

void MemoryLog::keep(std::vector<Batch> batches) {
  for (Batch& batch : batches) {
    const std::int64_t seq = batch.seq.value();
    CHECK(disk_->batches.emplace(seq, std::move(batch)).second, "a batch is written once");
  }
}

void MemoryLog::change_archive(const ArchiveChange& change) {
  for (const ArchiveEntry& entry : change.put) disk_->archive.insert_or_assign(entry.key, entry);
  for (const std::string& key : change.remove) disk_->archive.erase(key);
}

Result<void> MemoryLog::append(Epoch epoch, std::vector<Batch> batches,
                               const ArchiveChange& archive, Room /*room*/) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  if (broken_) return log_is_broken();
  TRY(check_epoch(epoch, disk_->epoch));
  Head next = TRY(chain_batches(head_, epoch, batches));
  const AppendFault fault = std::exchange(disk_->next_append, AppendFault::kNone);
  if (fault != AppendFault::kNone) return fail(fault, std::move(batches), archive);
  keep(std::move(batches));
  change_archive(archive);
  head_ = std::move(next);
  return {};
}

Result<void> MemoryLog::save_snapshot(Epoch epoch, const Snapshot& snapshot) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  TRY(check_epoch(epoch, disk_->epoch));
  if (snapshot.through > head_.last) return not_in_log(snapshot.through, head_.last);
  disk_->snapshots[snapshot.through.value()] = {snapshot.text, false};
  while (disk_->snapshots.size() > static_cast<std::size_t>(kSnapshotsKept)) {
    disk_->snapshots.erase(disk_->snapshots.begin());
  }
  return {};
}

Result<std::optional<Snapshot>> MemoryLog::load_snapshot() {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  for (const auto& [through, saved] : std::views::reverse(disk_->snapshots)) {
    if (saved.damaged) continue;
    return std::optional(Snapshot{BatchSeq(through), saved.text});
  }
  return std::optional<Snapshot>();
}

Result<void> MemoryLog::prune(Epoch epoch, BatchSeq through) {
  const std::lock_guard<std::recursive_mutex> lock(*mutex_);
  TRY(check_epoch(epoch, disk_->epoch));
  const bool covered = disk_->snapshots.size() == static_cast<std::size_t>(kSnapshotsKept) &&
                       through.value() <= disk_->snapshots.begin()->first;
  if (!covered) return not_covered(through);
  if (through <= disk_->base.last) return {};
  disk_->base = head_at(*disk_, through.value());
  disk_->batches.erase(disk_->batches.begin(), disk_->batches.upper_bound(through.value()));
  return {};
}

}  // namespace

Result<std::unique_ptr<EventLog>> open_memory_log(std::shared_ptr<MemoryStorage> storage) {
  CHECK(storage != nullptr, "a log in memory has a storage");
  auto log = std::make_unique<MemoryLog>(std::move(storage));
  TRY(log->recover());
  return std::unique_ptr<EventLog>(std::move(log));
}

}  // namespace runnel::store
