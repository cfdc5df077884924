#include "store/sqlite/detail/history.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "store/checks.h"
#include "store/sqlite/detail/database.h"
#include "store/sqlite/detail/open.h"

namespace runnel::store::sqlite {
namespace {

Error damaged_entry(std::string_view key) {
  Error error(Errc::kCorrupt, "the archive's record of '" + std::string(key) + "' is damaged");
  error.with_hint(std::string(kDamageHint));
  return error.with_value(std::string(key));
}

// Bisects over the batches: their first events grow with them.
Result<BatchSeq> last_beginning_at_or_before(Tables& tables, const Kept& kept, EventSeq event) {
  std::int64_t low = kept.base.last.value() + 1;
  std::int64_t high = kept.head.last.value();
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    const std::optional<EventSeq> first = TRY(tables.first_event(BatchSeq(middle)));
    if (!first) {
      return Error(Errc::kCorrupt, name_of(BatchSeq(middle)) + " of the event log is missing");
    }
    if (*first <= event) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return BatchSeq(low);
}

}  // namespace

// The head as it was after this batch, which is there or was the last to be pruned.
Result<Head> head_at(Tables& tables, const Head& base, BatchSeq seq) {
  if (seq == base.last) return base;
  const std::optional<Batch> batch = TRY(tables.batch(seq));
  if (batch) return Head{batch->seq, batch->next_event(), batch->hash, batch->epoch};
  Error error(Errc::kCorrupt, name_of(seq) + " of the event log is missing");
  return error.with_value(std::to_string(seq.value()));
}

Result<std::vector<Batch>> read_batches(Tables& tables, const Kept& kept, BatchSeq after,
                                        std::int64_t limit) {
  if (after < kept.base.last) return pruned(name_of(BatchSeq(after.value() + 1)), kept.base.last);
  std::vector<Batch> out;
  if (after >= kept.head.last || limit <= 0) return out;
  const auto count_max = static_cast<std::size_t>(std::min(limit, kReadBatchesMax));
  std::size_t bytes = 0;
  TRY(verify_batches(tables, TRY(head_at(tables, kept.base, after)),
                     [&](Batch& batch, const Result<void>& verified) -> Result<bool> {
                       TRY(Result<void>(verified));
                       bytes += batch.input.size() + batch.events.size();
                       if (!out.empty() && bytes > static_cast<std::size_t>(kReadBytesMax.count()))
                         return false;
                       out.push_back(std::move(batch));
                       return out.size() < count_max;
                     }));
  if (!out.empty()) return out;
  Error error(Errc::kCorrupt,
              name_of(BatchSeq(after.value() + 1)) + " of the event log is missing");
  return error.with_value(std::to_string(after.value() + 1));
}

Result<Batch> find_batch(Tables& tables, const Kept& kept, EventSeq event) {
  if (event >= kept.head.next_event) return no_such_event(event, kept.head.next_event);
  if (event < kept.base.next_event) {
    return pruned("event " + std::to_string(event.value()), kept.base.last);
  }
  const BatchSeq seq = TRY(last_beginning_at_or_before(tables, kept, event));
  std::vector<Batch> found = TRY(read_batches(tables, kept, BatchSeq(seq.value() - 1), 1));
  CHECK(found.size() == 1, "reading one batch gives one or an error");
  return std::move(found.front());
}

Result<ArchiveEntry> archived(Tables& tables, std::string_view key) {
  std::optional<StoredEntry> found = TRY(tables.entry(key));
  if (!found) return no_such_key(key);
  if (!found->good) return damaged_entry(key);
  return std::move(found->entry);
}

Result<ArchivePage> list_archive(Tables& tables, const ArchiveQuery& query) {
  PagePlace place{after_prefix(query.sort_prefix), ""};
  if (!query.page_token.empty()) place = TRY(parse_page_token(query.page_token));
  const auto limit = std::clamp<std::int64_t>(query.limit, 1, kArchivePageMax);
  std::vector<StoredEntry> found =
      TRY(tables.entries_below(place.sort_key, place.key, query.sort_prefix, limit + 1));
  ArchivePage page;
  const bool more = found.size() > static_cast<std::size_t>(limit);
  if (more) found.pop_back();
  if (more) page.next_token = page_token({found.back().entry.sort_key, found.back().entry.key});
  for (StoredEntry& each : found) {
    if (!each.good) return damaged_entry(each.entry.key);
    page.entries.push_back(std::move(each.entry));
  }
  return page;
}

Result<std::vector<std::string>> archive_keys(Tables& tables, std::string_view prefix,
                                              std::int64_t limit) {
  return tables.keys(prefix, std::clamp<std::int64_t>(limit, 0, kArchivePageMax));
}

}  // namespace runnel::store::sqlite
