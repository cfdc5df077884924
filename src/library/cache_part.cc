#include "library/cache_part.h"

#include <string>
#include <utility>

namespace runnel::library {

Async<std::unique_ptr<volume::DiskCache>> open_cache_part(async::EventLoop& loop,
                                                          volume::DiskCache::Options options) {
  for (int number = 0; number < kCachePartsMax; ++number) {
    const std::string folder = options.folder + "/part-" + std::to_string(number);
    const volume::DiskCache::Options part{folder, options.bytes};
    Result<std::unique_ptr<volume::DiskCache>> opened =
        co_await volume::DiskCache::open(loop, part);
    const bool is_taken = !opened.ok() && opened.error().code == Errc::kConflict;
    if (!is_taken) co_return std::move(opened);
  }
  co_return Error(Errc::kConflict, "other processes use all " + std::to_string(kCachePartsMax) +
                                       " parts of the cache " + options.folder)
      .with_field("cache")
      .with_value(options.folder)
      .with_hint("use another folder for some of them");
}

}  // namespace runnel::library
