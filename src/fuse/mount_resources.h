#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "async/event.h"
#include "async/event_loop.h"
#include "object/open_store.h"
#include "object/opened_buckets.h"
#include "volume/disk_cache.h"
#include "volume/pack_cache.h"
#include "volume/reader_memory.h"
#include "volume/unused_memory.h"
#include "volume_server/mount_request.h"

namespace runnel::fuse {

// What the mounts of one process share: stores, caches on the disk, and, for each volume, what of
// its packs is in memory, so that what one of them has fetched is there for all.
//
// Contract: mounts share only what was opened with the same keys: who has none gets nothing.
// Threads:  the loop's only.
// Lifetime: each hold() is followed by release(); then nothing is left. The loop outlives it.
// Limits:   one ReaderMemory for all volumes, and what each cache on the disk may have.
class MountResources {
 public:
  explicit MountResources(async::EventLoop& loop)
      : loop_(loop), unused_(loop, *memory_), turn_ended_(loop) {}

  // Of all volumes.
  const std::shared_ptr<volume::ReaderMemory>& memory() const { return memory_; }

  // The store of a request.
  struct Store {
    std::unique_ptr<object::OpenedStore> opened;
    std::unique_ptr<object::OpenedBuckets> others;  // Of objects that are linked.
    int users = 0;
  };
  Async<Store*> hold_store(volume_server::MountRequest request);
  Async<void> release_store(const volume_server::MountRequest& request);

  // The packs of its volume, which has this id, in memory and on the disk. `ranges`: how they are
  // read, from the store of the request.
  Async<volume::PackCache*> hold_packs(volume_server::MountRequest request, std::string uuid,
                                       volume::RangeReader ranges);
  Async<void> release_packs(volume_server::MountRequest request, std::string uuid);

  // The cache on the disk that it names, of this process's mounts or opened for it.
  Async<volume::DiskCache*> hold_cache(const volume_server::MountRequest& request);
  Async<void> release_cache(const volume_server::MountRequest& request);

 private:
  struct Disk {
    std::unique_ptr<volume::DiskCache> cache;
    int users = 0;
  };
  struct Packs {
    std::unique_ptr<volume::PackCache> cache;
    int users = 0;
  };
  // A folder is opened or closed by one at a time: two would find each other's lock. One that does
  // not answer holds up no other.
  template <typename T>
  Async<T> in_turn(std::string folder, Async<T> work);
  Async<volume::DiskCache*> hold_disk(const volume_server::MountRequest& request);
  Async<void> release_disk(const volume_server::MountRequest& request);

  async::EventLoop& loop_;
  const std::shared_ptr<volume::ReaderMemory> memory_ = std::make_shared<volume::ReaderMemory>();
  volume::UnusedMemory unused_;
  std::map<std::string, Store> stores_;
  std::map<std::string, Disk> disks_;
  std::map<std::string, Packs> packs_;
  std::set<std::string> busy_;  // Folders that are being opened or closed.
  async::Notifier turn_ended_;
};

}  // namespace runnel::fuse
