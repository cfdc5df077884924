#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/stop_token.h"
#include "object/object_store.h"
#include "volume/session.h"

namespace runnel::volume {

// A session as it was seen in its store.
struct SeenSession {
  std::string key;  // With the volume's prefix.
  std::string bytes;
  std::optional<SessionRecord> record;  // None: it is damaged, or a probe.
  bool is_probe = false;                // Of a Volume::create() that was killed.
};

// Those of a volume, in the order of their keys; `prefix` has '/' at its end. What else lies there
// is somebody's.
Async<std::vector<SeenSession>> see_sessions(object::ObjectStore& store, std::string prefix,
                                             async::StopToken stop);

}  // namespace runnel::volume
