#include "volume/stored_ranges.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel::volume {
namespace {

ObjectId object(char name) {
  ObjectId id;
  id.bytes.fill(name);
  return id;
}

HeldBytes bytes(std::size_t size, char fill) { return HeldBytes::of(std::string(size, fill)); }

TEST(StoredRanges, FindsWhatOneRangeHasWhole) {
  MemoryBudget budget(1'000);
  StoredRanges ranges(budget);
  ranges.keep(object('a'), 100, HeldBytes::of("0123456789"));
  EXPECT_EQ(ranges.find({object('a'), 100, 10})->bytes, "0123456789");
  EXPECT_EQ(ranges.find({object('a'), 103, 2})->bytes, "34");
  EXPECT_FALSE(ranges.find({object('a'), 99, 5}));
  EXPECT_FALSE(ranges.find({object('a'), 105, 6}));
  EXPECT_FALSE(ranges.find({object('b'), 100, 1}));
  EXPECT_FALSE(ranges.find({object('`'), 100, 1}));
}

TEST(StoredRanges, OfTwoFromOnePlaceTheLongerOneStays) {
  MemoryBudget budget(1'000);
  StoredRanges ranges(budget);
  ranges.keep(object('a'), 0, bytes(10, '1'));
  ranges.keep(object('a'), 0, bytes(20, '2'));
  ranges.keep(object('a'), 0, bytes(15, '3'));
  EXPECT_EQ(ranges.find({object('a'), 0, 20})->bytes, std::string(20, '2'));
  EXPECT_EQ(ranges.bytes(), 20U);
}

TEST(StoredRanges, TheLastUsedStay) {
  MemoryBudget budget(100);
  StoredRanges ranges(budget);
  for (const std::uint64_t offset : {0, 1'000, 2'000}) {
    ranges.keep(object('a'), offset, bytes(30, 'x'));
  }
  const auto held = ranges.find({object('a'), 0, 30});
  ranges.keep(object('a'), 3'000, bytes(30, 'x'));
  EXPECT_LE(ranges.bytes(), 100U);
  EXPECT_TRUE(ranges.has({object('a'), 0, 30})) << "it was used";
  EXPECT_FALSE(ranges.has({object('a'), 1'000, 30}));
  ranges.keep(object('b'), 0, bytes(200, 'y'));
  EXPECT_TRUE(ranges.has({object('b'), 0, 200})) << "one alone may be larger";
  EXPECT_FALSE(ranges.has({object('a'), 0, 30}));
  EXPECT_EQ(held->bytes, std::string(30, 'x')) << "what is held stays whole";
}

TEST(StoredRanges, OneThatIsDroppedIsGone) {
  MemoryBudget budget(100);
  StoredRanges ranges(budget);
  ranges.keep(object('a'), 0, bytes(30, 'x'));
  ranges.drop({object('a'), 5, 30});
  EXPECT_TRUE(ranges.has({object('a'), 0, 30})) << "none has all of these";
  ranges.drop({object('a'), 5, 10});
  EXPECT_FALSE(ranges.has({object('a'), 0, 30}));
  EXPECT_EQ(ranges.bytes(), 0U);
}

TEST(StoredRanges, AShortOneHidesNoLongOneThatBeginsBefore) {
  MemoryBudget budget(1'000);
  StoredRanges ranges(budget);
  ranges.keep(object('a'), 0, bytes(100, 'l'));
  ranges.keep(object('a'), 50, bytes(10, 's'));
  EXPECT_EQ(ranges.find({object('a'), 55, 20})->bytes, std::string(20, 'l'));
  EXPECT_EQ(ranges.find({object('a'), 52, 5})->bytes, std::string(5, 's'));
}

}  // namespace
}  // namespace runnel::volume
