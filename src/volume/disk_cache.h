#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/worker.h"
#include "volume/cache_files.h"
#include "volume/cache_map.h"
#include "volume/cache_segments.h"

namespace runnel::volume {

// Whether a cache could not be opened since another process has its folder.
bool is_taken_cache(const Error& error);

// A cache of ranges of packs on the local disk, for all volumes that a process reads.
//
// Contract: what is found was put under that volume and range, or something else where the disk has
//           changed it: readers check what they get. A disk that fails or is full takes nothing
//           more, and costs no reader anything but time.
// Threads:  the loop's only; files are touched on its own threads "cache-read" and "cache-write".
// Lifetime: the loop outlives it. close() is awaited before destruction.
// Limits:   the folder's bytes; kWritingMax bytes in kWritesMax ranges wait to be written, and more
//           are not kept.
class DiskCache {
 public:
  static constexpr std::uint64_t kWritingMax = 64 << 20;
  // Of these for who waits for room: who keeps what it has read anyway passes over what has none.
  static constexpr std::uint64_t kWaitedFor = kWritingMax / 2;
  static constexpr std::size_t kWritesMax = 256;

  struct Options {
    std::string folder;
    Bytes bytes;
  };
  static Async<std::unique_ptr<DiskCache>> open(async::EventLoop& loop, Options options);
  // Over files that `open` finds, which is called on the writing thread.
  using Opener = std::function<Result<std::unique_ptr<CacheFiles>>()>;
  static Async<std::unique_ptr<DiskCache>> open_over(async::EventLoop& loop, Opener open);

  // The slot that has all of a range.
  std::optional<CacheSlot> find(const VolumeKey& volume, const ObjectRange& wanted) {
    return map_.find(volume, wanted);
  }
  bool has(const VolumeKey& volume, const ObjectRange& wanted) const {
    return map_.has(volume, wanted);
  }
  // Bytes of a slot: a part of its range, that begins at a multiple of AlignedBytes::kAlign in it.
  Async<std::shared_ptr<env::AlignedBytes>> read(CacheSlot slot, ObjectRange part);
  // Writes it in the background, unless it is here. False when the cache is busy or has failed.
  enum class Waits : std::uint8_t { kNo, kYes };
  bool keep(const VolumeKey& volume, const ObjectRange& range,
            std::shared_ptr<const env::AlignedBytes> bytes, Waits waits = Waits::kNo);
  // What is here of it is wrong.
  void drop(const CacheSlot& slot);
  // Waits until what is to be kept by now is written, or is known not to be.
  Async<void> settle(async::StopToken stop = {});
  bool is_writing() const { return !writes_.empty(); }
  Async<void> close();

  std::uint64_t bytes() const { return map_.bytes(); }
  std::uint64_t room(std::uint64_t range_max) const { return map_.room(range_max); }
  bool has_room(std::uint64_t ranges, std::uint64_t bytes, std::uint64_t range_max) const {
    return map_.has_room(ranges, bytes, range_max);
  }
  // Why nothing more is written; none: it is.
  const std::optional<Error>& failed() const { return failed_; }

 private:
  DiskCache(async::EventLoop& loop, std::unique_ptr<CacheFiles> files);
  static Result<std::unique_ptr<DiskCache>> open_files(async::EventLoop& loop, const Opener& open);

  Async<void> forget(CacheSlot slot);
  Async<void> forget_on_disk(CacheSlot slot);
  Result<void> write_now(const CacheMap::Placed& placed, std::string_view bytes);
  Async<void> write(std::uint64_t number, CacheMap::Placed placed,
                    std::shared_ptr<const env::AlignedBytes> bytes);

  CacheSegments segments_;
  CacheMap map_;
  std::unique_ptr<async::Worker> reader_;
  std::unique_ptr<async::Worker> writer_;
  async::EventLoop& loop_;
  async::Gate writing_;
  async::Notifier written_;
  std::uint64_t writing_bytes_ = 0;
  std::uint64_t next_write_ = 0;
  std::set<std::uint64_t> writes_;  // That are under way, numbered as they began.
  std::optional<Error> failed_;
  bool is_broken_ = false;  // The writing thread's.
};

}  // namespace runnel::volume
