#include "volume/object_source.h"

#include <algorithm>
#include <utility>

#include "async/together.h"
#include "volume/chunker.h"
#include "volume/object_entry.h"

namespace runnel::volume {

ObjectSource::ObjectSource(async::EventLoop& loop, object::ObjectStore& store, Time now,
                           async::StopToken stop)
    : loop_(loop), store_(store), now_(now), stop_(std::move(stop)) {}

Async<ReadBatch> ObjectSource::next(async::Worker& worker) {
  if (long_) co_return co_await next_long(worker);
  co_return co_await next_short(worker);
}

// None at the end.
Async<std::optional<object::Listed>> ObjectSource::next_listed() {
  while (next_ == page_.objects.size()) {
    if (is_listed_ && !page_.more) co_return std::optional<object::Listed>();
    const std::string after = page_.more.value_or("");
    page_ = CO_TRY(co_await store_.list("", after, stop_));
    if (!is_listed_ && page_.objects.empty() && !page_.more) co_return has_no_object(store_.name());
    is_listed_ = true;
    next_ = 0;
  }
  const object::Listed& listed = page_.objects[next_++];
  if (is_mark_of_folder(listed)) co_return co_await next_listed();
  co_return std::optional(listed);
}

Async<void> ObjectSource::read_all(std::vector<Part>& parts) {
  std::vector<Async<void>> reads;
  for (Part& part : parts) {
    if (part.bytes.empty()) continue;
    reads.push_back(store_.read(part.key, part.stamp, part.offset, part.bytes, stop_));
    if (reads.size() < kReadsAtOnce) continue;
    CO_TRY(stop_.check());
    CO_TRY(co_await async::when_all(loop_, std::exchange(reads, {})));
  }
  co_return co_await async::when_all(loop_, std::move(reads));
}

// --- Objects that are one chunk each.

namespace {

void add_short(ReadBatch& batch, ReadEntry entry, std::string_view bytes) {
  if (entry.node.kind == NodeKind::kFile) {
    entry.node.size = bytes.size();
    entry.node.hash = hash::sha256(bytes);
  }
  if (!bytes.empty()) entry.chunks.push_back({entry.node.hash, batch.bytes.size(), bytes.size()});
  batch.bytes += bytes;
  batch.entries.push_back(std::move(entry));
}

}  // namespace

// Ends before a long one.
Async<ReadBatch> ObjectSource::next_short(async::Worker& worker) {
  ReadBatch batch;
  std::vector<ReadEntry> entries;
  std::vector<Part> parts;
  std::size_t bytes = 0;
  while (bytes < SourceTree::kBatchBytes && parts.size() < SourceTree::kBatchEntries && !long_) {
    const std::optional<object::Listed> listed = CO_TRY(co_await next_listed());
    batch.is_last = !listed.has_value();
    if (batch.is_last) break;
    ReadEntry entry = CO_TRY(entry_of_object(*listed, store_.name(), now_));
    if (listed->size > static_cast<std::int64_t>(kWholeFileMax)) {
      long_.emplace(LongObject{std::move(entry), listed->key, listed->stamp, listed->size, 0, {}});
      break;
    }
    entries.push_back(std::move(entry));
    bytes += static_cast<std::size_t>(listed->size);
    parts.push_back(
        {listed->key, listed->stamp, 0, std::string(static_cast<std::size_t>(listed->size), '\0')});
  }
  CO_TRY(co_await read_all(parts));
  co_return co_await worker.run([&] {
    for (std::size_t index = 0; index < parts.size(); ++index) {
      add_short(batch, std::move(entries[index]), parts[index].bytes);
    }
    return std::move(batch);
  });
}

// --- Objects that are cut.

std::vector<ObjectSource::Part> ObjectSource::parts_of_long() {
  std::vector<Part> parts;
  std::size_t bytes = 0;
  while (long_->next < long_->size && bytes < SourceTree::kBatchBytes) {
    const auto size = static_cast<std::size_t>(
        std::min<std::int64_t>(long_->size - long_->next, static_cast<std::int64_t>(kPartBytes)));
    parts.push_back({long_->key, long_->stamp, long_->next, std::string(size, '\0')});
    long_->next += static_cast<std::int64_t>(size);
    bytes += size;
  }
  return parts;
}

Async<ReadBatch> ObjectSource::next_long(async::Worker& worker) {
  std::vector<Part> parts;
  if (long_->cutter.wants_more()) parts = parts_of_long();
  CO_TRY(co_await read_all(parts));
  co_return co_await worker.run([&] {
    for (const Part& part : parts) long_->cutter.add(part.bytes);
    if (long_->next == long_->size) long_->cutter.end();
    ReadBatch batch;
    ReadEntry entry = long_->entry;
    long_->entry.is_first = false;
    entry.is_whole = long_->cutter.cut(batch, entry);
    if (entry.is_whole) {
      long_->cutter.finish(entry.node);
      long_.reset();
    }
    batch.entries.push_back(std::move(entry));
    return batch;
  });
}

}  // namespace runnel::volume
