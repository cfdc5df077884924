#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "volume/cache_map.h"

namespace runnel::volume {

// The table at the end of a cache's segment: entries of kEntryBytes, one per slot in the order of
// their places, each with a sum of its own, so that one that was half written is none.
//
// Threads: none of its own.
inline constexpr std::size_t kCacheEntryBytes = 64;

std::string encode_cache_entry(const CacheSlot& slot);
// The entry of a slot that is not to be used any more.
std::string encode_dropped_entry(const CacheSlot& slot);
// The entries up to the first that is none, as slots of this segment, but for dropped ones.
std::vector<CacheSlot> decode_cache_table(std::string_view table, std::uint32_t segment);

}  // namespace runnel::volume
