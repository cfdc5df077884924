#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "async/stop_token.h"
#include "volume/extent.h"
#include "volume/range_reader.h"

namespace runnel::volume {

// Whether what is stored of a chunk is what its sums say. kCorrupt names the pack. Objects that are
// linked have none.
Result<void> check_chunk(const Extent& extent, std::string_view stored);

// The same of some blocks of it, of which the first has this number.
Result<void> check_blocks(const Extent& extent, std::string_view blocks, std::uint64_t first);

// The bytes of a chunk out of what is stored of it: checked by its sums, decompressed. kCorrupt
// names the pack.
Result<std::string> chunk_of(const Extent& extent, std::string_view stored);

// The bytes of a chunk: fetched, checked by its sums, decompressed; zeros of a hole. What is
// damaged is fetched once more; kCorrupt names the pack.
Async<std::string> read_chunk(RangeReader ranges, Extent extent, async::StopToken stop);

// The bytes of a file, [offset, offset + length) or up to its end.
Async<std::string> read_bytes(RangeReader ranges, std::vector<Extent> extents, std::uint64_t offset,
                              std::uint64_t length, async::StopToken stop);

}  // namespace runnel::volume
