#include "volume/cache_map.h"

#include <algorithm>

#include "base/check.h"
#include "hash/sha256.h"

namespace runnel::volume {
namespace {

std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + CacheMap::kSlotAlign - 1) / CacheMap::kSlotAlign * CacheMap::kSlotAlign;
}

}  // namespace

VolumeKey volume_key_of(std::string_view uuid) {
  const hash::Digest digest = hash::sha256(uuid);
  VolumeKey key;
  std::copy_n(digest.begin(), key.size(), key.begin());
  return key;
}

CacheMap::Key CacheMap::key_of(const CacheSlot& slot) {
  return {slot.volume, slot.range.object, slot.range.offset};
}

CacheMap::Slots::const_iterator CacheMap::at(const VolumeKey& volume,
                                             const ObjectRange& wanted) const {
  auto at = slots_.upper_bound({volume, wanted.object, wanted.offset});
  for (int looks = StoredRanges::kOverlapsMax; looks > 0 && at != slots_.begin(); --looks) {
    --at;
    if (at->first.volume == volume && at->second.range.covers(wanted)) return at;
  }
  return slots_.end();
}

std::optional<CacheSlot> CacheMap::find(const VolumeKey& volume, const ObjectRange& wanted) {
  const auto found = at(volume, wanted);
  if (found == slots_.end()) return std::nullopt;
  segments_[found->second.segment].was_read = true;
  return found->second;
}

bool CacheMap::has(const VolumeKey& volume, const ObjectRange& wanted) const {
  return at(volume, wanted) != slots_.end();
}

// A segment that is full has kSlotsMax slots, or less than `range_max` bytes free. Each slot takes
// up to kSlotAlign bytes more than its range.
bool CacheMap::has_room(std::uint64_t ranges, std::uint64_t bytes, std::uint64_t range_max) const {
  const double by_count = static_cast<double>(ranges) / kSlotsMax;
  const double by_bytes = static_cast<double>(bytes + ranges * kSlotAlign) /
                          static_cast<double>(kDataBytes - range_max);
  return by_count + by_bytes <= static_cast<double>(segments_.size());
}

std::optional<CacheMap::Placed> CacheMap::place(const VolumeKey& volume, const ObjectRange& range) {
  if (range.length == 0 || range.length > kDataBytes) return std::nullopt;
  bool begins = false;
  if (open_) {
    const Segment& open = segments_[*open_];
    const bool fits = open.filled + range.length <= kDataBytes && open.placed < kSlotsMax;
    if (!fits) {
      full_.push_back(*open_);
      open_.reset();
    }
  }
  if (!open_) {
    open_ = unused_segment();
    if (!open_) return std::nullopt;
    begins = true;
  }
  Segment& open = segments_[*open_];
  Placed placed{{volume, range, *open_, open.placed, open.filled}, begins};
  open.filled += aligned(range.length);
  ++open.placed;
  return placed;
}

bool CacheMap::commit(const CacheSlot& slot) {
  CHECK(segments_[slot.segment].holders > 0, "who writes to a segment holds it");
  return add(slot);
}

bool CacheMap::add(const CacheSlot& slot) {
  const auto same = slots_.find(key_of(slot));
  if (same != slots_.end() && same->second.range.length >= slot.range.length) return false;
  if (same != slots_.end()) drop(CacheSlot(same->second));
  slots_[key_of(slot)] = slot;
  segments_[slot.segment].slots.push_back(slot);
  bytes_ += slot.range.length;
  return true;
}

bool CacheMap::drop(const CacheSlot& slot) {
  const auto found = slots_.find(key_of(slot));
  if (found == slots_.end() || found->second != slot) return false;
  std::erase(segments_[slot.segment].slots, slot);
  bytes_ -= slot.range.length;
  slots_.erase(found);
  return true;
}

std::optional<std::uint32_t> CacheMap::unused_segment() {
  if (untouched_ < segments_.size()) return untouched_++;
  return least_wanted();
}

std::optional<std::uint32_t> CacheMap::least_wanted() {
  // Twice around: the first round may only say of each that it was read.
  for (std::size_t step = 0; step < 2 * full_.size() + 1; ++step) {
    if (hand_ == full_.end()) hand_ = full_.begin();
    if (hand_ == full_.end()) return std::nullopt;
    Segment& segment = segments_[*hand_];
    if (segment.holders > 0 || segment.was_read) {
      segment.was_read = false;
      ++hand_;
      continue;
    }
    const std::uint32_t number = *hand_;
    hand_ = full_.erase(hand_);
    empty(number);
    return number;
  }
  return std::nullopt;
}

void CacheMap::empty(std::uint32_t number) {
  Segment& segment = segments_[number];
  for (const CacheSlot& slot : segment.slots) {
    bytes_ -= slot.range.length;
    slots_.erase(key_of(slot));
  }
  segment = Segment();
}

void CacheMap::restore(std::uint32_t number, const std::vector<CacheSlot>& slots) {
  CHECK(!open_, "a cache is read from its disk before it is used");
  Segment& segment = segments_[number];
  untouched_ = std::max(untouched_, number + 1);
  full_.push_back(number);
  for (const CacheSlot& slot : slots) add(slot);
  segment.filled = kDataBytes;
  segment.placed = static_cast<std::uint32_t>(slots.size());
}

std::vector<CacheSlot> CacheMap::slots_of(std::uint32_t segment) const {
  return segments_[segment].slots;
}

}  // namespace runnel::volume
