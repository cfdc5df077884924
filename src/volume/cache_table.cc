#include "volume/cache_table.h"

#include <optional>

#include "hash/xxh3.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

// Sums of another layout of the table are wrong ones.
constexpr std::uint64_t kLayout = 1;

std::optional<CacheSlot> decode_entry(std::string_view entry, std::uint32_t segment) {
  FixedReader reader(entry);
  CacheSlot slot;
  slot.segment = segment;
  reader.take(slot.volume);
  reader.take(slot.range.object.bytes);
  slot.range.offset = reader.u64le();
  slot.range.length = reader.u64le();
  slot.place = reader.u64le();
  const std::string_view said = entry.substr(0, entry.size() - reader.rest().size());
  if (reader.u64le() != hash::xxh3(said, kLayout)) return std::nullopt;
  const bool fits =
      slot.place <= CacheMap::kDataBytes && slot.range.length <= CacheMap::kDataBytes - slot.place;
  if (!fits || slot.place % CacheMap::kSlotAlign != 0) return std::nullopt;
  return slot;
}

}  // namespace

std::string encode_cache_entry(const CacheSlot& slot) {
  std::string entry(slot.volume.data(), slot.volume.size());
  entry += slot.range.object.view();
  append_u64le(entry, slot.range.offset);
  append_u64le(entry, slot.range.length);
  append_u64le(entry, slot.place);
  append_u64le(entry, hash::xxh3(entry, kLayout));
  return entry;
}

std::string encode_dropped_entry(const CacheSlot& slot) {
  CacheSlot dropped = slot;
  dropped.range.length = 0;
  return encode_cache_entry(dropped);
}

std::vector<CacheSlot> decode_cache_table(std::string_view table, std::uint32_t segment) {
  std::vector<CacheSlot> slots;
  for (std::uint32_t number = 0; number < CacheMap::kSlotsMax; ++number) {
    if (table.size() < kCacheEntryBytes) break;
    auto slot = decode_entry(table.substr(0, kCacheEntryBytes), segment);
    if (!slot) break;
    slot->number = number;
    if (slot->range.length > 0) slots.push_back(*slot);
    table.remove_prefix(kCacheEntryBytes);
  }
  return slots;
}

}  // namespace runnel::volume
