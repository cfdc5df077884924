#include "volume/cache_segments.h"

#include <algorithm>
#include <span>

#include "base/check.h"
#include "volume/cache_table.h"

namespace runnel::volume {

std::vector<CacheSlot> CacheSegments::slots_of(std::uint32_t segment) const {
  if (!files_->has(segment)) return {};
  env::AlignedBytes table(CacheMap::kTableBytes);
  const Result<void> read = files_->read(segment, CacheMap::kDataBytes, table.room(), table.size());
  if (!read.ok()) return {};
  return decode_cache_table(table.view(), segment);
}

Result<void> CacheSegments::begin_segment(std::uint32_t segment) {
  TRY(files_->make(segment));
  env::AlignedBytes table(CacheMap::kTableBytes);
  std::fill(table.span().begin(), table.span().end(), '\0');
  return files_->write(segment, CacheMap::kDataBytes, table.padded());
}

Result<void> CacheSegments::write(const CacheSlot& slot, std::string_view bytes) {
  CHECK(slot.place + bytes.size() <= CacheMap::kDataBytes, "a slot runs into the table");
  TRY(files_->write(slot.segment, slot.place, bytes));
  return enter(slot, encode_cache_entry(slot));
}

Result<void> CacheSegments::forget(const CacheSlot& slot) {
  return enter(slot, encode_dropped_entry(slot));
}

// Writes the page of the table that the entry is in, with those beside it.
Result<void> CacheSegments::enter(const CacheSlot& slot, const std::string& entry) {
  const std::size_t at = slot.number * kCacheEntryBytes;
  const std::size_t page = at / env::AlignedBytes::kAlign * env::AlignedBytes::kAlign;
  env::AlignedBytes entries(env::AlignedBytes::kAlign);
  const std::uint64_t place = CacheMap::kDataBytes + page;
  TRY(files_->read(slot.segment, place, entries.room(), entries.size()));
  const std::span<char> its = entries.span().subspan(at - page, entry.size());
  std::copy(entry.begin(), entry.end(), its.begin());
  return files_->write(slot.segment, place, entries.padded());
}

Result<std::shared_ptr<env::AlignedBytes>> CacheSegments::read(const CacheSlot& slot,
                                                               std::uint64_t offset,
                                                               std::uint64_t length) const {
  auto bytes = std::make_shared<env::AlignedBytes>(length);
  TRY(files_->read(slot.segment, slot.place + offset, bytes->room(), length));
  return bytes;
}

}  // namespace runnel::volume
