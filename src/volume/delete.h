#pragma once

#include <cstdint>

#include "async/event_loop.h"
#include "env/clock.h"
#include "volume/gc.h"
#include "volume/volume.h"

namespace runnel::volume {

struct DeleteOptions {
  MakeRoom make_room;
  bool wait = true;  // As GcOptions has it.
};

struct DeleteResult {
  std::int64_t objects = 0;  // That were deleted by this call.
  std::int64_t bytes = 0;    // In them.
};

// kConflict, naming them, while the volume has clones, or somebody reads or writes it.
Async<void> check_unused(Volume& volume, async::StopToken stop);

// Deletes a volume that was opened to be deleted, with all of its versions and tags, for good.
// docs/design/volume_gc.md, "A volume that is deleted".
//
// Contract: as check_unused() first. Killed at any moment, the volume is as it was, or nobody reads
//           or writes it any more and the next call goes on. Who began to read at the last moment
//           keeps what it reads: kConflict, and the rest goes with a later call. What stays is a
//           head that says so, of some hundred bytes: so nothing that is late can hit a volume that
//           is made anew under the name. What late requests put below it goes with another call.
//           What the origin of a clone has kept for it goes with the origin's next gc.
Async<DeleteResult> delete_volume(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                                  DeleteOptions options, async::StopToken stop);

}  // namespace runnel::volume
