#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/stop_token.h"
#include "object/object_store.h"
#include "volume/session.h"

namespace runnel::volume {

// A session as it was seen in its store.
struct SeenSession {
  std::string key;  // With the volume's prefix.
  std::string bytes;
  std::string etag;
  std::optional<SessionRecord> record;  // None: it is damaged, or a probe.
  bool is_probe = false;                // Of a Volume::create() that was killed.
};

// Those of a volume, in the order of their keys; `prefix` has '/' at its end. What else lies there
// is somebody's. `is_wanted`: of whose names alone; none: all.
using IsWantedName = std::function<bool(std::string_view name)>;
Async<std::vector<SeenSession>> see_sessions(object::ObjectStore& store, std::string prefix,
                                             async::StopToken stop, IsWantedName is_wanted = {});

// One of them, by its key. None: there is none.
Async<std::optional<SeenSession>> see_session(object::ObjectStore& store, std::string key,
                                              async::StopToken stop);

// Removes a session whose owner is done, or taken for dead. First it says so by compare-and-swap:
// whoever lives after all, or has taken it over since it was seen, keeps it, and nobody takes it
// over any more. Whether it was removed.
Async<bool> remove_session(object::ObjectStore& store, SeenSession session, async::StopToken stop);

}  // namespace runnel::volume
