#pragma once

#include <cstdint>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "fuse/serve_mount.h"
#include "volume/pack_cache.h"
#include "volume/volume.h"

namespace runnel::fuse {

// What the log of a branch is called, below the folder of its volume: no two terms have the same.
std::string log_of_branch(const std::string& branch, std::int64_t term);

// Answers the requests of a mount that is written to until it is no more, and publishes what is
// changed meanwhile, with the rest at the end. The branch has its log in the options' folder of
// logs, where it goes on with what was not published before: also what a mount has left whose
// machine lost its power. What the volume has left behind meanwhile is set aside first
// (LeasedPublishing). kConflict while another mount has the log, or the lease. What is under way at
// the end is answered first.
Async<void> serve_branch(async::EventLoop& loop, volume::Volume& volume, volume::PackCache& packs,
                         ServeOptions options, async::StopToken stop);

// The same of a mount that is no more, whose server ended before all was published.
Async<void> publish_branch(async::EventLoop& loop, volume::Volume& volume, volume::PackCache& packs,
                           ServeOptions options, async::StopToken stop);

}  // namespace runnel::fuse
