#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "fuse/error_notices.h"
#include "volume/pack_cache.h"
#include "volume/volume.h"

namespace runnel::fuse {

struct ServeOptions {
  std::string version;  // Of the volume.
  std::string folder;   // Where it is mounted: by it a process that takes over knows the session.
  async::UniqueFd connection;  // Of the mount, to the kernel.
  std::string first_message;   // That the kernel has sent over it.
  bool takes_over = false;     // From a process that has died.
  // Of a mount that is written to: a folder of the local disk for the logs of volumes,
  std::string logs;
  std::uint64_t connection_number = 0;  // and the connection's number, by chance.
  // The branch of the volume that it writes (volume/branch_session.h); empty: the volume itself.
  std::string branch;
  std::int64_t term = 0;
  bool from_base = false;
  std::function<void()> serving;  // Called once requests are answered.
  ErrorNotices::Say say;          // Why requests failed; empty: nobody hears.
};

// Answers the requests of a mount until it is no more, with what `packs` has of the volume. The
// version is held meanwhile: kConflict when the store has lost that session, and kNotFound when
// there is no such version. What is under way at the end is answered first.
Async<void> serve_mount(async::EventLoop& loop, volume::Volume& volume, volume::PackCache& packs,
                        ServeOptions options, async::StopToken stop);

}  // namespace runnel::fuse
