#pragma once

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "env/clock.h"
#include "volume/volume.h"

namespace runnel::volume {

// The lease of a volume: while one writer has it, nobody else publishes versions.
// docs/design/volume_lease.md.
//
// Contract: a lease is as good as its holder's session. It is taken from a holder whose process is
//           seen to have ended, at once, and from one whose session has stood still for
//           Session::kTtl of this machine's boot clock: then the session is removed first, so that
//           a holder who wakes after all is told so before it publishes.

// Of a volume with a writer's session, which has the lease afterwards, also one that a process
// before it had whose session it goes on with. kConflict while another writer lives, naming it.
Async<void> take_lease(async::EventLoop& loop, env::Clock& clock, Volume& volume,
                       async::StopToken stop);
// To be called before the session ends.
Async<void> release_lease(Volume& volume);

}  // namespace runnel::volume
