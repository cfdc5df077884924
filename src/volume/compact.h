#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "volume/marks.h"
#include "volume/volume.h"

namespace runnel::volume {

struct Compaction {
  std::int64_t packed = 0;  // Bytes of living chunks that were packed anew.
  bool is_done = false;     // The newest version has other places now.
};

// Gives the newest version other places of its chunks where its packs hold much that no file needs,
// and cuts its tree of chunks to what files need. The version stays the same: its files, its id.
// Packs that an older version or a session needs stay as they are. Under the volume's session.
//
// `newest` and `others` mark the newest version alone, and all others that are retained; `sizes`
// are bytes of the volume's objects by key. Nothing is done when somebody else publishes meanwhile.
Async<Compaction> compact(Volume& volume, const Marks& newest, const Marks& others,
                          const std::map<std::string, std::int64_t>& sizes, async::StopToken stop);

// The packs that it writes anew, told before.
std::set<ObjectId> packs_to_compact(const Marks& newest, const Marks& others,
                                    const std::map<std::string, std::int64_t>& sizes);

}  // namespace runnel::volume
