#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "volume/disk_cache.h"
#include "volume/volume.h"

namespace runnel::volume {

struct WarmUp {
  std::int64_t files = 0;
  std::int64_t bytes = 0;    // That these have stored,
  std::int64_t fetched = 0;  // and that were not in the cache before.
  std::string version;       // At the end: which one it was.
};
using WarmUpProgress = std::function<void(const WarmUp&)>;

// Brings what the files below a path have stored into a cache on the disk, before anybody reads
// them. Nothing is checked here: who reads knows the sums. kInvalid, once that is known, when the
// cache has no room for all of it; the cache's own error when its disk fails or is full.
Async<WarmUp> warm_up(async::EventLoop& loop, Volume& volume, std::string version, std::string path,
                      DiskCache& cache, WarmUpProgress progress, async::StopToken stop);

}  // namespace runnel::volume
