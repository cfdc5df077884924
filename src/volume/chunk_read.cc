#include "volume/chunk_read.h"

#include <algorithm>
#include <utility>

#include "volume/compression.h"
#include "volume/fetch_plan.h"

namespace runnel::volume {
namespace {

Error damaged(const Extent& extent) {
  return Error(Errc::kCorrupt, "a chunk of " + pack_key(extent.pack) + " at byte " +
                                   std::to_string(extent.offset) + " is damaged")
      .with_value(pack_key(extent.pack))
      .with_hint("see all that is damaged: runnel volume fsck");
}

}  // namespace

Result<void> check_chunk(const Extent& extent, std::string_view stored) {
  if (extent.linked || block_sums(stored) == extent.sums) return {};
  return damaged(extent);
}

Result<void> check_blocks(const Extent& extent, std::string_view blocks, std::uint64_t first) {
  if (extent.linked) return {};
  const std::vector<std::uint64_t> sums = block_sums(blocks);
  if (std::equal(sums.begin(), sums.end(),
                 extent.sums.begin() + static_cast<std::ptrdiff_t>(first)))
    return {};
  return damaged(extent);
}

Result<std::string> chunk_of(const Extent& extent, std::string_view stored) {
  TRY(check_chunk(extent, stored));
  if (extent.is_as_stored()) return std::string(stored);
  std::string bytes(extent.length, '\0');
  if (!decompress(stored, bytes).ok()) return damaged(extent);
  return bytes;
}

namespace {

Async<std::string> fetch_chunk(const RangeReader& ranges, const Extent& extent,
                               async::StopToken stop) {
  std::string stored(extent.stored, '\0');
  CO_TRY(co_await ranges.read(stored_range(extent), stored, std::move(stop)));
  co_return chunk_of(extent, stored);
}

}  // namespace

Async<std::string> read_chunk(RangeReader ranges, Extent extent, async::StopToken stop) {
  if (extent.is_hole()) co_return std::string(extent.length, '\0');
  Result<std::string> chunk = co_await fetch_chunk(ranges, extent, stop);
  // Its bytes may have been changed on their way; the store is asked once more.
  if (!chunk.ok() && chunk.error().code == Errc::kCorrupt && !extent.linked) {
    chunk = co_await fetch_chunk(ranges, extent, stop);
  }
  co_return chunk;
}

Async<std::string> read_bytes(RangeReader ranges, std::vector<Extent> extents, std::uint64_t offset,
                              std::uint64_t length, async::StopToken stop) {
  std::string bytes;
  std::uint64_t begin = 0;  // Of the extent in the file.
  for (const Extent& extent : extents) {
    const std::uint64_t end = begin + extent.length;
    const std::uint64_t from = std::max(begin, offset);
    const std::uint64_t until = std::min(end, offset + length);
    if (from < until) {
      if (extent.linked) {
        bytes += CO_TRY(
            co_await read_chunk(ranges, part_of_object(extent, from - begin, until - from), stop));
      } else {
        const std::string chunk = CO_TRY(co_await read_chunk(ranges, extent, stop));
        bytes.append(chunk, from - begin, until - from);
      }
    }
    begin = end;
    if (begin >= offset + length) break;
  }
  co_return bytes;
}

}  // namespace runnel::volume
