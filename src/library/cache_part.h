#pragma once

#include <memory>

#include "async/event_loop.h"
#include "volume/disk_cache.h"

namespace runnel::library {

// Parts that a cache's folder has at most: as many processes may use it at a time.
inline constexpr int kCachePartsMax = 64;

// Opens the first part of a cache's folder that no other process has: "part-0", "part-1", each of
// the size that `options` says. kConflict when all are taken.
Async<std::unique_ptr<volume::DiskCache>> open_cache_part(async::EventLoop& loop,
                                                          volume::DiskCache::Options options);

}  // namespace runnel::library
