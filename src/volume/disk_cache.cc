#include "volume/disk_cache.h"

#include <utility>

#include "volume/cache_folder.h"

namespace runnel::volume {

bool is_taken_cache(const Error& error) {
  return error.code == Errc::kConflict && error.field == "cache";
}

DiskCache::DiskCache(async::EventLoop& loop, std::unique_ptr<CacheFiles> files)
    : segments_(std::move(files)),
      map_(segments_.segments()),
      loop_(loop),
      writing_(loop),
      written_(loop) {}

Async<std::unique_ptr<DiskCache>> DiskCache::open(async::EventLoop& loop, Options options) {
  return open_over(loop, [options = std::move(options)]() -> Result<std::unique_ptr<CacheFiles>> {
    return Result<std::unique_ptr<CacheFiles>>(
        TRY(CacheFolder::open(options.folder, options.bytes)));
  });
}

Async<std::unique_ptr<DiskCache>> DiskCache::open_over(async::EventLoop& loop, Opener open) {
  std::unique_ptr<async::Worker> writer =
      CO_TRY(async::Worker::create(loop, {.name = "cache-write"}));
  Result<std::unique_ptr<async::Worker>> reader =
      async::Worker::create(loop, {.name = "cache-read"});
  if (!reader.ok()) {
    MUST(co_await writer->stop());
    co_return reader.error();
  }
  Result<std::unique_ptr<DiskCache>> opened =
      co_await writer->run([&] { return open_files(loop, open); });
  if (!opened.ok()) {
    MUST(co_await (*reader)->stop());
    MUST(co_await writer->stop());
    co_return opened.error();
  }
  (*opened)->writer_ = std::move(writer);
  (*opened)->reader_ = *std::move(reader);
  co_return std::move(opened);
}

Result<std::unique_ptr<DiskCache>> DiskCache::open_files(async::EventLoop& loop,
                                                         const Opener& open) {
  std::unique_ptr<CacheFiles> files = TRY(open());
  std::unique_ptr<DiskCache> cache(new DiskCache(loop, std::move(files)));
  std::uint32_t used = cache->segments_.segments();
  while (used > 0 && !cache->segments_.has(used - 1)) --used;
  for (std::uint32_t segment = 0; segment < used; ++segment) {
    cache->map_.restore(segment, cache->segments_.slots_of(segment));
  }
  return cache;
}

Async<std::shared_ptr<env::AlignedBytes>> DiskCache::read(CacheSlot slot, ObjectRange part) {
  map_.hold(slot.segment);
  Result<std::shared_ptr<env::AlignedBytes>> bytes = co_await reader_->run([this, &slot, &part] {
    return segments_.read(slot, part.offset - slot.range.offset, part.length);
  });
  map_.release(slot.segment);
  co_return bytes;
}

bool DiskCache::keep(const VolumeKey& volume, const ObjectRange& range,
                     std::shared_ptr<const env::AlignedBytes> bytes, Waits waits) {
  if (failed_) return false;
  if (map_.has(volume, range)) return true;
  const bool is_waited_for = waits == Waits::kYes;
  const std::size_t writes_max = is_waited_for ? kWritesMax : kWritesMax / 2;
  const std::uint64_t bytes_max = is_waited_for ? kWritingMax : kWritingMax - kWaitedFor;
  if (writes_.size() >= writes_max || writing_bytes_ + range.length > bytes_max) return false;
  const auto placed = map_.place(volume, range);
  if (!placed) return false;
  if (!loop_.spawn(writing_, write(next_write_, *placed, std::move(bytes))).ok()) return false;
  map_.hold(placed->slot.segment);
  writing_bytes_ += range.length;
  writes_.insert(next_write_++);
  return true;
}

Async<void> DiskCache::write(std::uint64_t number, CacheMap::Placed placed,
                             std::shared_ptr<const env::AlignedBytes> bytes) {
  const Result<void> written =
      co_await writer_->run([this, &placed, &bytes] { return write_now(placed, bytes->padded()); });
  if (written.ok()) {
    // Where another one begins at the same byte, that one is found, and this one never would be.
    if (!map_.commit(placed.slot)) (void)co_await forget_on_disk(placed.slot);
  } else if (!failed_) {
    failed_ = written.error();
  }
  map_.release(placed.slot.segment);
  writing_bytes_ -= placed.slot.range.length;
  writes_.erase(number);
  written_.notify_all();
  co_return {};
}

// On the writing thread. Once a write has failed no range is written any more, also of those that
// wait: a segment that could not be emptied has its old table still, over which new bytes would be
// taken for the old ones by the next process.
Result<void> DiskCache::write_now(const CacheMap::Placed& placed, std::string_view bytes) {
  if (is_broken_) return Error(Errc::kCancelled, "a write before this one failed");
  Result<void> written;
  if (placed.begins_segment) written = segments_.begin_segment(placed.slot.segment);
  if (written.ok()) written = segments_.write(placed.slot, bytes);
  is_broken_ = !written.ok();
  return written;
}

// Others may always have more to write.
Async<void> DiskCache::settle(async::StopToken stop) {
  const std::uint64_t until = next_write_;
  while (!writes_.empty() && *writes_.begin() < until) CO_TRY(co_await written_.wait(stop));
  co_return {};
}

void DiskCache::drop(const CacheSlot& slot) {
  if (!map_.drop(slot)) return;
  map_.hold(slot.segment);
  if (loop_.spawn(writing_, forget(slot)).ok()) return;
  map_.release(slot.segment);  // Closed.
}

Async<void> DiskCache::forget(CacheSlot slot) {
  (void)co_await forget_on_disk(slot);  // A failure was noted.
  map_.release(slot.segment);
  co_return {};
}

Async<void> DiskCache::forget_on_disk(CacheSlot slot) {
  const Result<void> done = co_await writer_->run([this, &slot] { return segments_.forget(slot); });
  if (!done.ok() && !failed_) failed_ = done.error();
  co_return {};
}

Async<void> DiskCache::close() {
  CO_TRY(co_await writing_.close());
  CO_TRY(co_await reader_->stop());
  co_return co_await writer_->stop();
}

}  // namespace runnel::volume
