#include "volume/with_pack_cache.h"

#include <utility>

namespace runnel::volume {

Async<void> warm(Snapshot& snapshot) {
  CO_TRY(co_await snapshot.node(kRootInode));
  CO_TRY(co_await snapshot.list(kRootInode, "", 1));
  co_return {};
}

Async<void> with_pack_cache(async::EventLoop& loop, Volume& volume, const Snapshot& snapshot,
                            PackPlaces places, std::function<Async<void>(PackCache&)> work,
                            async::StopToken stop) {
  PackCache cache(loop, volume.ranges(),
                  {.memory = volume.memory(),
                   .disk = places.disk,
                   .volume = volume_key_of(snapshot.manifest().uuid),
                   .server = places.server},
                  stop);
  const Result<void> done = co_await work(cache);
  MUST(co_await cache.close());
  co_return done;
}

}  // namespace runnel::volume
