#include "volume/cache_map.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "base/split_mix.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

VolumeKey a_volume(char name) {
  VolumeKey key;
  key.fill(name);
  return key;
}

ObjectRange a_range(char object, std::uint64_t offset, std::uint64_t length) {
  ObjectRange range;
  range.object.bytes.fill(object);
  range.offset = offset;
  range.length = length;
  return range;
}

const VolumeKey kVolume = a_volume('v');

// Places a range and says that it is there.
std::optional<CacheSlot> put(CacheMap& map, const ObjectRange& range) {
  const auto placed = map.place(kVolume, range);
  if (!placed) return std::nullopt;
  map.hold(placed->slot.segment);
  map.commit(placed->slot);
  map.release(placed->slot.segment);
  return placed->slot;
}

TEST(CacheMap, FindsWhatIsCommitted) {
  CacheMap map(2);
  const auto placed = map.place(kVolume, a_range('a', 100, 5'000));
  ASSERT_TRUE(placed);
  EXPECT_TRUE(placed->begins_segment);
  EXPECT_FALSE(map.has(kVolume, a_range('a', 100, 5'000))) << "its bytes are not there yet";
  map.hold(placed->slot.segment);
  EXPECT_TRUE(map.commit(placed->slot));
  map.release(placed->slot.segment);
  EXPECT_EQ(map.find(kVolume, a_range('a', 200, 10)), placed->slot);
  EXPECT_FALSE(map.has(kVolume, a_range('a', 99, 10)));
  EXPECT_FALSE(map.has(kVolume, a_range('a', 5'000, 200)));
  EXPECT_FALSE(map.has(kVolume, a_range('b', 200, 10)));
  EXPECT_FALSE(map.has(a_volume('w'), a_range('a', 200, 10))) << "of another volume";
  map.drop(placed->slot);
  EXPECT_FALSE(map.has(kVolume, a_range('a', 200, 10)));
  EXPECT_EQ(map.bytes(), 0U);
}

TEST(CacheMap, SlotsLieBesideEachOther) {
  CacheMap map(2);
  const auto first = put(map, a_range('a', 0, 5'000));
  const auto second = put(map, a_range('a', 10'000, 1));
  EXPECT_EQ(first->place, 0U);
  EXPECT_EQ(second->place, 8'192U);
  EXPECT_EQ(second->segment, first->segment);
  EXPECT_FALSE(map.place(kVolume, a_range('a', 0, CacheMap::kSegmentBytes)));
}

TEST(CacheMap, OfRangesThatOverlapTheOneThatHasAllIsFound) {
  CacheMap map(2);
  const auto part = put(map, a_range('a', 0, 1'000'000));
  put(map, a_range('a', 500'000, 100));
  EXPECT_EQ(map.find(kVolume, a_range('a', 500'050, 1'000)), part) << "behind one that is shorter";
  const auto longer = put(map, a_range('a', 500'000, 2'000'000));
  EXPECT_EQ(map.find(kVolume, a_range('a', 500'000, 2'000'000)), longer)
      << "in the place of the shorter one";
  EXPECT_EQ(map.bytes(), 3'000'000U);
  put(map, a_range('a', 500'000, 10));
  EXPECT_EQ(map.find(kVolume, a_range('a', 500'000, 10)), longer);
}

TEST(CacheMap, TheOldestSegmentGoesUnlessItWasRead) {
  CacheMap map(3);
  // Two of these fill a segment.
  const std::uint64_t size = 30 * kMiB;
  for (char object = 'a'; object <= 'f'; ++object) put(map, a_range(object, 0, size));
  EXPECT_TRUE(map.find(kVolume, a_range('a', 0, 10))) << "a and b are read";
  put(map, a_range('g', 0, size));
  EXPECT_TRUE(map.has(kVolume, a_range('b', 0, size)));
  EXPECT_FALSE(map.has(kVolume, a_range('c', 0, size))) << "the next oldest";
  EXPECT_FALSE(map.has(kVolume, a_range('d', 0, size)));
  EXPECT_TRUE(map.has(kVolume, a_range('e', 0, size)));
}

TEST(CacheMap, ASegmentThatIsHeldStays) {
  CacheMap map(2);
  const auto first = put(map, a_range('a', 0, 60 * kMiB));
  put(map, a_range('b', 0, 60 * kMiB));
  map.hold(first->segment);
  put(map, a_range('c', 0, 60 * kMiB));
  EXPECT_TRUE(map.has(kVolume, a_range('a', 0, 10)));
  EXPECT_FALSE(map.has(kVolume, a_range('b', 0, 10)));
  // The other one is being filled, and this one is held.
  EXPECT_FALSE(map.place(kVolume, a_range('d', 0, 60 * kMiB)) &&
               !map.has(kVolume, a_range('a', 0, 10)));
  map.release(first->segment);
}

TEST(CacheMap, IsAsItWasWhenItIsRestored) {
  CacheMap before(4);
  for (char object = 'a'; object <= 'd'; ++object) put(before, a_range(object, 7, 30 * kMiB));
  CacheMap after(4);
  for (std::uint32_t segment = 0; segment < 2; ++segment) {
    after.restore(segment, before.slots_of(segment));
  }
  EXPECT_EQ(after.bytes(), before.bytes());
  for (char object = 'a'; object <= 'd'; ++object) {
    EXPECT_EQ(after.find(kVolume, a_range(object, 7, 100)),
              before.find(kVolume, a_range(object, 7, 100)));
  }
  EXPECT_EQ(put(after, a_range('e', 0, 10))->segment, 2U) << "restored ones are full";
}

// Whatever comes: no two slots share a byte, none is beyond a segment's data, and what is found is
// what was put there last.
TEST(CacheMap, NeverGivesAByteTwice) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SplitMix64 numbers(seed);
    const auto segments = static_cast<std::uint32_t>(numbers.next() % 4 + 2);
    CacheMap map(segments);
    std::multiset<std::uint32_t> held;
    for (int step = 0; step < 400; ++step) {
      const auto object = static_cast<char>('a' + numbers.next() % 8);
      const ObjectRange range =
          a_range(object, numbers.next() % 4 * 9 * kMiB, numbers.next() % (9 * kMiB) + 1);
      if (numbers.next() % 3 == 0) {
        if (const auto slot = map.find(kVolume, range); slot && held.size() + 1 < segments) {
          map.hold(slot->segment);
          held.insert(slot->segment);
        }
      } else {
        put(map, range);
      }
      if (!held.empty() && numbers.next() % 2 == 0) {
        map.release(*held.begin());
        held.erase(held.begin());
      }
      std::uint64_t bytes = 0;
      for (std::uint32_t segment = 0; segment < segments; ++segment) {
        std::uint64_t end = 0;
        for (const CacheSlot& slot : map.slots_of(segment)) {
          ASSERT_EQ(slot.segment, segment);
          ASSERT_GE(slot.place, end) << "seed " << seed;
          ASSERT_EQ(slot.place % CacheMap::kSlotAlign, 0U);
          end = slot.place + slot.range.length;
          ASSERT_LE(end, CacheMap::kDataBytes);
          bytes += slot.range.length;
        }
      }
      ASSERT_EQ(bytes, map.bytes());
    }
  }
}

}  // namespace
}  // namespace runnel::volume
