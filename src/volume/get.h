#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "async/event_loop.h"
#include "volume/tree_sink.h"
#include "volume/volume.h"

namespace runnel::volume {

struct GetProgress {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::string version;  // At the end: which one it was.
};

struct GetOptions {
  // A file that is damaged in the store is passed over; the error at the end names the first of
  // them. Else it is the end.
  bool passes_over = true;
  bool keeps_same = false;  // Files with the size and time of the version's are left as they are.
  std::function<void(const GetProgress&)> progress;  // After each batch; may be empty.
};

// Hands what is under the path of a version, named as for Volume::snapshot(), to a sink. Reads by
// ranges of packs, many at a time. The sink is finished when all of it was handed over, and closed
// in any case.
Async<GetProgress> get_into(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, TreeSink& sink, GetOptions options,
                            async::StopToken stop);

// Writes it to `target`, as `put` took it: a file becomes that file, of a folder its entries come
// into that folder. That one is made where it is missing, with the bits and times that it has in
// the volume; one that is there keeps its own. Files that are there are replaced, each at once;
// others stay. kConflict when a file stands where a folder is to be, or the other way round.
Async<GetProgress> get_tree(async::EventLoop& loop, Volume& volume, std::string version,
                            std::string path, std::string target, GetOptions options,
                            async::StopToken stop);

}  // namespace runnel::volume
