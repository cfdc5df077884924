#include "volume/with_pack_cache.h"

#include <algorithm>
#include <utility>

#include "hash/sha256.h"

namespace runnel::volume {
namespace {

// What the volume is called in a cache.
VolumeKey cache_key_of(const Snapshot& snapshot) {
  const hash::Digest digest = hash::sha256(snapshot.manifest().uuid);
  VolumeKey key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

}  // namespace

Async<void> warm(Snapshot& snapshot) {
  CO_TRY(co_await snapshot.node(kRootInode));
  CO_TRY(co_await snapshot.list(kRootInode, "", 1));
  co_return {};
}

Async<void> with_pack_cache(async::EventLoop& loop, Volume& volume, const Snapshot& snapshot,
                            PackMemory memory, std::function<Async<void>(PackCache&)> work,
                            async::StopToken stop) {
  PackCache cache(loop, volume.store(),
                  {.prefix = volume.prefix(),
                   .bytes_max = memory.bytes_max,
                   .disk = memory.disk,
                   .volume = cache_key_of(snapshot)},
                  stop);
  const Result<void> done = co_await work(cache);
  MUST(co_await cache.close());
  co_return done;
}

}  // namespace runnel::volume
