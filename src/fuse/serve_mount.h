#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "volume/disk_cache.h"
#include "volume/volume.h"

namespace runnel::fuse {

struct ServeOptions {
  static constexpr std::uint64_t kCacheBytes = 128 << 20;

  std::string version;  // Of the volume.
  std::string folder;   // Where it is mounted: by it a process that takes over knows the session.
  std::optional<volume::DiskCache::Options> cache;  // On the local disk; none: only memory.
  async::UniqueFd connection;                       // Of the mount, to the kernel.
  std::string first_message;                        // That the kernel has sent over it.
  bool takes_over = false;                          // From a process that has died.
  std::function<void()> serving;                    // Called once requests are answered.
};

// Answers the requests of a mount until it is no more. The version is held meanwhile: kConflict
// when the store has lost that session, and kNotFound when there is no such version.
Async<void> serve_mount(async::EventLoop& loop, volume::Volume& volume, ServeOptions options,
                        async::StopToken stop);

}  // namespace runnel::fuse
