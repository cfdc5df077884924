#pragma once

#include <optional>

#include "async/async.h"
#include "volume/snapshot.h"
#include "volume/stored_ranges.h"

namespace runnel::volume {

// The part of a pack that a chunk of a short file is to be fetched with: what the files beside it
// have there, of neighbours in the index, which were put together, up to kFetchBytesMax. All of
// these files get the same part, as long as they are in one part of that size.
Async<ObjectRange> with_neighbours(Snapshot& snapshot, Inode file, Extent chunk);
// The same of the next short file of another part: what comes after it for who reads in the order
// of the index. None at the end.
Async<std::optional<ObjectRange>> part_behind(Snapshot& snapshot, Inode file, Extent chunk);

}  // namespace runnel::volume
