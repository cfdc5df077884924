// Arbitrary bytes as a pack, as the table of one whose sums are right, as a compressed chunk, and
// as the table of a cache's segment. No chunk lies outside its pack, and none outside its segment.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "hash/xxh3.h"
#include "volume/cache_table.h"
#include "volume/compression.h"
#include "volume/pack.h"

namespace {

using namespace runnel;
using namespace runnel::volume;

constexpr std::uint64_t kTableAt = 40 << 20;

void check_table(std::string_view bytes, const PackTable& table) {
  const Result<std::vector<PackEntry>> entries = parse_pack_table(bytes, table);
  if (!entries.ok()) return;
  for (const PackEntry& entry : *entries) {
    CHECK(entry.offset <= table.offset, "a chunk begins behind the pack's chunks");
    CHECK(entry.stored <= table.offset - entry.offset, "a chunk ends behind the pack's chunks");
    CHECK(entry.length <= kChunkBytesMax, "a chunk is longer than one may be");
  }
}

void check_pack(std::string_view bytes) {
  const std::size_t end = bytes.size() - std::min<std::size_t>(bytes.size(), kPackTrailerBytes);
  const Result<PackTable> table = parse_pack_trailer(bytes.substr(end), bytes.size());
  if (table.ok()) check_table(bytes.substr(table->offset, table->length), *table);
}

void check_segment(std::string_view bytes) {
  for (const CacheSlot& slot : decode_cache_table(bytes, 3)) {
    CHECK(slot.segment == 3, "a slot is of another segment");
    CHECK(slot.place <= CacheMap::kDataBytes, "a slot begins behind its segment");
    CHECK(slot.range.length <= CacheMap::kDataBytes - slot.place, "a slot ends behind its segment");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_pack(bytes);
  check_table(bytes, {kTableAt, bytes.size(), hash::xxh3(bytes)});
  check_segment(bytes);
  std::string chunk(size < 2 ? 0 : data[0] * 256U + data[1], '\0');
  (void)decompress(bytes.substr(std::min<std::size_t>(size, 2)), chunk);
  return 0;
}
