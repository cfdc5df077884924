#pragma once

#include <functional>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "volume/disk_cache.h"
#include "volume/pack_cache.h"
#include "volume/snapshot.h"
#include "volume/volume.h"

namespace runnel::volume {

// Brings the top of a version's index, by one request, before anybody asks for it.
Async<void> warm(Snapshot& snapshot);

// Where packs are looked for before the store is asked, as PackCache::Options has them.
struct PackPlaces {
  DiskCache* disk = nullptr;
  PackServer* server = nullptr;
};
// Does the work with a cache of the volume's packs, in its memory and in these places. The cache is
// closed afterwards. `stop` ends what waits for it; the work ends by itself.
Async<void> with_pack_cache(async::EventLoop& loop, Volume& volume, const Snapshot& snapshot,
                            PackPlaces places, std::function<Async<void>(PackCache&)> work,
                            async::StopToken stop);

}  // namespace runnel::volume
