#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "volume/stored_ranges.h"

namespace runnel::volume {

// Which volume: the 16 bytes of its uuid. Volumes share no ranges, whatever their packs are called.
using VolumeKey = std::array<char, 16>;
VolumeKey volume_key_of(std::string_view uuid);

// A range of a pack in a cache: `place` is its first byte in the segment.
struct CacheSlot {
  VolumeKey volume{};
  ObjectRange range;
  std::uint32_t segment = 0;
  std::uint32_t number = 0;  // Of the slots of its segment, from 0 on.
  std::uint64_t place = 0;
  friend bool operator==(const CacheSlot&, const CacheSlot&) = default;
};

// What is where in the segments of a cache, and which segment is emptied for what is new.
//
// Contract: a slot is found once it is committed, until its segment is emptied or it is dropped.
//           Slots fill a segment one after another, at multiples of kSlotAlign. The segment that
//           goes is the oldest that was not read from since it was passed over last (SIEVE, Zhang
//           and others, NSDI 2024, with segments for objects); one that somebody reads stays.
// Threads:  none of its own: it decides, and touches no file.
// Limits:   `segments` of kSegmentBytes each: the bytes of the cache, by construction.
class CacheMap {
 public:
  static constexpr std::uint64_t kSegmentBytes = 64 << 20;
  static constexpr std::uint64_t kTableBytes = 64 << 10;  // At the end of each segment.
  static constexpr std::uint64_t kSlotAlign = 4 << 10;
  static constexpr std::size_t kSlotsMax = 800;  // Of a segment, as its table has room.
  static constexpr std::uint64_t kDataBytes = kSegmentBytes - kTableBytes;

  explicit CacheMap(std::uint32_t segments) : segments_(segments) {}

  // The slot that has all of a range; its segment counts as read.
  std::optional<CacheSlot> find(const VolumeKey& volume, const ObjectRange& wanted);
  bool has(const VolumeKey& volume, const ObjectRange& wanted) const;

  struct Placed {
    CacheSlot slot;
    bool begins_segment = false;  // What was in the segment is gone: its table is to be emptied.
  };
  // Room for a range; none when it is larger than a segment, or all segments are being read.
  std::optional<Placed> place(const VolumeKey& volume, const ObjectRange& range);
  // Its bytes are there; its writer holds the segment. It takes the place of a shorter one that
  // begins at the same byte; false when there is one as long.
  bool commit(const CacheSlot& slot);
  bool drop(const CacheSlot& slot);  // False when it is not here any more.

  // Somebody reads from it, or writes to it: it is not emptied meanwhile.
  void hold(std::uint32_t segment) { ++segments_[segment].holders; }
  void release(std::uint32_t segment) { --segments_[segment].holders; }

  // As found on disk, before anything is placed: a full segment.
  void restore(std::uint32_t segment, const std::vector<CacheSlot>& slots);
  std::vector<CacheSlot> slots_of(std::uint32_t segment) const;  // Committed ones.
  std::uint64_t bytes() const { return bytes_; }                 // Of committed slots.
  // Bytes of ranges of up to `range_max` each for which there is room together.
  std::uint64_t room(std::uint64_t range_max) const {
    return segments_.size() * (kDataBytes - range_max);
  }
  // Whether so many ranges of together so many bytes, of up to `range_max` each, have room.
  bool has_room(std::uint64_t ranges, std::uint64_t bytes, std::uint64_t range_max) const;

 private:
  struct Key {
    VolumeKey volume{};
    ObjectId object;
    std::uint64_t offset = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Segment {
    std::vector<CacheSlot> slots;  // Committed.
    std::uint64_t filled = 0;
    std::uint32_t placed = 0;
    int holders = 0;
    bool was_read = false;
  };
  using Slots = std::map<Key, CacheSlot>;

  bool add(const CacheSlot& slot);
  static Key key_of(const CacheSlot& slot);
  Slots::const_iterator at(const VolumeKey& volume, const ObjectRange& wanted) const;
  std::optional<std::uint32_t> unused_segment();
  std::optional<std::uint32_t> least_wanted();
  void empty(std::uint32_t segment);

  std::vector<Segment> segments_;
  Slots slots_;
  std::list<std::uint32_t> full_;  // The oldest first.
  std::list<std::uint32_t>::iterator hand_ = full_.end();
  std::optional<std::uint32_t> open_;  // That is being filled.
  std::uint32_t untouched_ = 0;        // From here on no segment was used yet.
  std::uint64_t bytes_ = 0;
};

}  // namespace runnel::volume
