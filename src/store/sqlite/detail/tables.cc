#include "store/sqlite/detail/tables.h"

#include <bit>
#include <initializer_list>
#include <utility>

#include "hash/xxh3.h"

namespace runnel::store::sqlite {
namespace {

// The checksum of fields whose borders cannot move: each is preceded by its size.
std::int64_t checksum(std::initializer_list<std::string_view> fields) {
  std::uint64_t sum = 0;
  for (const std::string_view field : fields) sum = hash::xxh3(field, sum + field.size());
  return std::bit_cast<std::int64_t>(sum);
}

}  // namespace

std::int64_t checksum_of(const Meta& meta) {
  return checksum({std::to_string(meta.format), std::to_string(meta.epoch.value()),
                   std::to_string(meta.base.last.value()),
                   std::to_string(meta.base.next_event.value()), meta.base.hash});
}

std::int64_t checksum_of(const StoredSnapshot& stored) {
  return checksum({std::to_string(stored.snapshot.through.value()),
                   std::to_string(stored.next_event.value()), stored.batch_hash,
                   stored.snapshot.text});
}

std::int64_t checksum_of(const ArchiveEntry& entry, BatchSeq batch) {
  return checksum({entry.key, entry.sort_key, entry.text, std::to_string(batch.value())});
}

std::string name_of(BatchSeq seq) { return "batch " + std::to_string(seq.value()); }

Result<Tables> Tables::prepare(Database& db) {
  Tables out;
  out.meta_ = TRY(db.prepare("SELECT * FROM meta WHERE id = 1"));
  out.set_meta_ = TRY(db.prepare("REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?)"));
  out.insert_batch_ = TRY(db.prepare("INSERT INTO batch VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  out.batch_ = TRY(db.prepare("SELECT * FROM batch WHERE seq = ?"));
  out.last_batch_ = TRY(db.prepare("SELECT * FROM batch ORDER BY seq DESC LIMIT 1"));
  out.first_event_ = TRY(db.prepare("SELECT first_event FROM batch WHERE seq = ?"));
  out.first_seq_ = TRY(db.prepare("SELECT seq FROM batch ORDER BY seq LIMIT 1"));
  out.batches_after_ = TRY(db.prepare("SELECT * FROM batch WHERE seq > ? ORDER BY seq"));
  out.delete_batches_ = TRY(db.prepare("DELETE FROM batch WHERE seq <= ?"));
  out.snapshots_ = TRY(db.prepare("SELECT seq FROM snapshot ORDER BY seq DESC"));
  out.snapshot_ = TRY(db.prepare("SELECT * FROM snapshot WHERE seq = ?"));
  out.insert_snapshot_ = TRY(db.prepare("REPLACE INTO snapshot VALUES (?, ?, ?, ?, ?)"));
  out.delete_snapshots_ =
      TRY(db.prepare("DELETE FROM snapshot WHERE seq NOT IN "
                     "(SELECT seq FROM snapshot ORDER BY seq DESC LIMIT ?)"));
  out.put_entry_ = TRY(db.prepare("REPLACE INTO archive VALUES (?, ?, ?, ?, ?)"));
  out.remove_entry_ = TRY(db.prepare("DELETE FROM archive WHERE key = ?"));
  out.entry_ = TRY(db.prepare("SELECT * FROM archive WHERE key = ?"));
  out.keys_ =
      TRY(db.prepare("SELECT key FROM archive WHERE key >= ? AND key < ? ORDER BY key LIMIT ?"));
  out.entries_below_ =
      TRY(db.prepare("SELECT * FROM archive WHERE (sort_key, key) < (?, ?) AND sort_key >= ? "
                     "ORDER BY sort_key DESC, key DESC LIMIT ?"));
  out.all_entries_ = TRY(db.prepare("SELECT * FROM archive"));
  return out;
}

Result<Meta> Tables::meta() {
  Query query(meta_);
  const Error missing(Errc::kCorrupt, "the event log's row of facts about itself is damaged");
  if (!TRY(query.step())) return missing;
  Meta meta;
  meta.format = query.integer(1);
  meta.epoch = Epoch(query.integer(2));
  meta.base.last = BatchSeq(query.integer(3));
  meta.base.next_event = EventSeq(query.integer(4));
  meta.base.hash = query.text(5);
  if (query.integer(6) != checksum_of(meta)) return missing;
  return meta;
}

Result<void> Tables::set_meta(const Meta& meta) {
  Query query(set_meta_);
  query.bind(meta.format).bind(meta.epoch.value()).bind(meta.base.last.value());
  query.bind(meta.base.next_event.value()).bind(meta.base.hash).bind(checksum_of(meta));
  return query.run();
}

Result<void> Tables::insert_batch(const Batch& batch) {
  Query query(insert_batch_);
  query.bind(batch.seq.value()).bind(batch.first_event.value()).bind(batch.event_count);
  query.bind(batch.epoch.value()).bind(batch.now.millis());
  query.bind(batch.input).bind(batch.events).bind(batch.hash);
  return query.run();
}

Batch Tables::batch_of(const Query& query) {
  return {.seq = BatchSeq(query.integer(0)),
          .first_event = EventSeq(query.integer(1)),
          .event_count = query.integer(2),
          .epoch = Epoch(query.integer(3)),
          .now = Time::from_millis(query.integer(4)),
          .input = query.text(5),
          .events = query.text(6),
          .hash = query.text(7)};
}

Result<std::optional<Batch>> Tables::batch(BatchSeq seq) {
  Query query(batch_);
  query.bind(seq.value());
  if (!TRY(query.step())) return std::optional<Batch>();
  return std::optional(batch_of(query));
}

Result<std::optional<Batch>> Tables::last_batch() {
  Query query(last_batch_);
  if (!TRY(query.step())) return std::optional<Batch>();
  return std::optional(batch_of(query));
}

Result<std::optional<EventSeq>> Tables::first_event(BatchSeq seq) {
  Query query(first_event_);
  query.bind(seq.value());
  if (!TRY(query.step())) return std::optional<EventSeq>();
  return std::optional(EventSeq(query.integer(0)));
}

Result<std::optional<BatchSeq>> Tables::first_seq() {
  Query query(first_seq_);
  if (!TRY(query.step())) return std::optional<BatchSeq>();
  return std::optional(BatchSeq(query.integer(0)));
}

Result<void> Tables::delete_batches(BatchSeq through) {
  Query query(delete_batches_);
  query.bind(through.value());
  return query.run();
}

Result<std::vector<BatchSeq>> Tables::snapshots() {
  Query query(snapshots_);
  std::vector<BatchSeq> out;
  while (TRY(query.step())) out.emplace_back(query.integer(0));
  return out;
}

Result<std::optional<StoredSnapshot>> Tables::snapshot(BatchSeq through) {
  Query query(snapshot_);
  query.bind(through.value());
  if (!TRY(query.step())) return std::optional<StoredSnapshot>();
  StoredSnapshot stored;
  stored.snapshot.through = BatchSeq(query.integer(0));
  stored.next_event = EventSeq(query.integer(1));
  stored.batch_hash = query.text(2);
  stored.snapshot.text = query.text(3);
  stored.good = query.integer(4) == checksum_of(stored);
  return std::optional(std::move(stored));
}

Result<void> Tables::insert_snapshot(const StoredSnapshot& stored) {
  Query query(insert_snapshot_);
  query.bind(stored.snapshot.through.value()).bind(stored.next_event.value());
  query.bind(stored.batch_hash).bind(stored.snapshot.text).bind(checksum_of(stored));
  return query.run();
}

Result<void> Tables::delete_older_snapshots() {
  Query query(delete_snapshots_);
  query.bind(std::int64_t{kSnapshotsKept});
  return query.run();
}

Result<void> Tables::put_entry(const ArchiveEntry& entry, BatchSeq batch) {
  Query query(put_entry_);
  query.bind(entry.key).bind(entry.sort_key).bind(entry.text);
  query.bind(batch.value()).bind(checksum_of(entry, batch));
  return query.run();
}

Result<void> Tables::remove_entry(std::string_view key) {
  Query query(remove_entry_);
  query.bind(key);
  return query.run();
}

StoredEntry Tables::entry_of(const Query& query) {
  StoredEntry out;
  out.entry = {query.text(0), query.text(1), query.text(2)};
  out.batch = BatchSeq(query.integer(3));
  out.good = query.integer(4) == checksum_of(out.entry, out.batch);
  return out;
}

Result<std::optional<StoredEntry>> Tables::entry(std::string_view key) {
  Query query(entry_);
  query.bind(key);
  if (!TRY(query.step())) return std::optional<StoredEntry>();
  return std::optional(entry_of(query));
}

Result<std::vector<std::string>> Tables::keys(std::string_view prefix, std::int64_t limit) {
  Query query(keys_);
  const std::string end = after_prefix(prefix);
  query.bind(prefix).bind(end).bind(limit);
  std::vector<std::string> out;
  while (TRY(query.step())) out.push_back(query.text(0));
  return out;
}

Result<std::vector<StoredEntry>> Tables::entries_below(std::string_view sort_key,
                                                       std::string_view key,
                                                       std::string_view lowest,
                                                       std::int64_t limit) {
  Query query(entries_below_);
  query.bind(sort_key).bind(key).bind(lowest).bind(limit);
  std::vector<StoredEntry> out;
  while (TRY(query.step())) out.push_back(entry_of(query));
  return out;
}

std::string after_prefix(std::string_view prefix) {
  constexpr char kLast = '\xFF';  // In no UTF-8 text, so greater than all of them.
  std::string end(prefix);
  while (!end.empty() && end.back() == kLast) end.pop_back();
  if (end.empty()) return std::string(1, kLast);
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace runnel::store::sqlite
