#pragma once

#include <optional>
#include <string>

#include "volume/warm_up.h"
#include "volume_server/mount_request.h"

namespace runnel::volume_server {

// Asks the process that serves all mounts of a home, at its socket, for a warm-up of the cache that
// its mounts have, and waits for it. None when nobody serves there; kUnavailable when the server
// ends meanwhile; kIo with the sentence of what went wrong. Blocks.
Result<std::optional<volume::WarmUp>> ask_warm_up(const std::string& socket,
                                                  const MountRequest& request,
                                                  const volume::WarmUpProgress& progress);

}  // namespace runnel::volume_server
