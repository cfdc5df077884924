#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "volume/snapshot.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// What a put with `mirror` would do to a folder of a version: paths below it.
struct PutPreview {
  std::vector<std::string> removed;  // The topmost of it.
  std::vector<std::string> put;      // Files, links and folders that are new or other.
};

// Reads and hashes the whole source, as a put does, on a thread "volume-preview". A folder that is
// not there yet has nothing.
Async<PutPreview> preview_mirror(async::EventLoop& loop, Snapshot& newest, std::string into,
                                 std::unique_ptr<SourceTree> source, async::StopToken stop);

}  // namespace runnel::volume
