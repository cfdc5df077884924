#include "base/interval_set.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace runnel {
namespace {

using Range = IntervalSet::Range;

std::vector<std::int64_t> members(const std::vector<Range>& ranges) {
  std::vector<std::int64_t> out;
  for (const auto& [begin, end] : ranges) {
    for (std::int64_t value = begin; value < end; ++value) out.push_back(value);
  }
  return out;
}

// Sorted, disjoint, non-empty and never touching: the one form a set has.
bool is_canonical(const IntervalSet& set) {
  std::int64_t previous_end = -1;
  for (const auto& [begin, end] : set.ranges()) {
    if (begin >= end || begin <= previous_end) return false;
    previous_end = end;
  }
  return true;
}

TEST(IntervalSet, AMillionIsOneRange) {
  const IntervalSet set = IntervalSet::of(0, 1'000'000);
  EXPECT_EQ(set.size(), 1'000'000);
  EXPECT_EQ(set.ranges(), (std::vector<Range>{{0, 1'000'000}}));
  EXPECT_TRUE(set.contains(999'999));
  EXPECT_FALSE(set.contains(1'000'000));
}

TEST(IntervalSet, JoinsNeighboursAndOverlaps) {
  IntervalSet set;
  set.insert(0, 2);
  set.insert(4, 6);
  set.insert(2, 4);
  EXPECT_EQ(set, IntervalSet::of(0, 6));
  set.insert(10);
  set.insert(3, 20);
  EXPECT_EQ(set, IntervalSet::of(0, 20));
  EXPECT_EQ(set.size(), 20);
}

TEST(IntervalSet, SplitsOnErase) {
  IntervalSet set = IntervalSet::of(0, 10);
  set.erase(5);
  EXPECT_EQ(set.ranges(), (std::vector<Range>{{0, 5}, {6, 10}}));
  set.erase(4, 7);
  EXPECT_EQ(set.ranges(), (std::vector<Range>{{0, 4}, {7, 10}}));
  set.erase(0, 100);
  EXPECT_TRUE(set.empty());
  EXPECT_EQ(set.size(), 0);
}

TEST(IntervalSet, EmptyRangesHaveNoEffect) {
  IntervalSet set = IntervalSet::of(3, 3);
  EXPECT_TRUE(set.empty());
  set.insert(5, 4);
  set.erase(7, 7);
  EXPECT_EQ(set, IntervalSet());
  EXPECT_EQ(set.first(), std::nullopt);
  EXPECT_EQ(set.first_from(0), std::nullopt);
  EXPECT_TRUE(set.take(5).empty());
}

TEST(IntervalSet, TakesTheSmallestFirst) {
  IntervalSet set = IntervalSet::of(0, 3);
  set.insert(7, 9);
  EXPECT_EQ(set.take(4), (std::vector<Range>{{0, 3}, {7, 8}}));
  EXPECT_EQ(set, IntervalSet::of(8, 9));
  EXPECT_TRUE(set.take(0).empty());
  EXPECT_EQ(set.take(100), (std::vector<Range>{{8, 9}}));
  EXPECT_TRUE(set.empty());
}

TEST(IntervalSetDeathTest, RefusesNegativeMembers) {
  IntervalSet set;
  EXPECT_DEATH(set.insert(-1), "non-negative");
}

class IntervalSetProperty : public testing::TestWithParam<unsigned> {
 protected:
  void insert(std::int64_t begin, std::int64_t end) {
    set_.insert(begin, end);
    for (std::int64_t value = begin; value < end; ++value) model_.insert(value);
  }
  void erase(std::int64_t begin, std::int64_t end) {
    set_.erase(begin, end);
    for (std::int64_t value = begin; value < end; ++value) model_.erase(value);
  }
  void take(std::int64_t count) {
    const std::vector<std::int64_t> taken = members(set_.take(count));
    std::vector<std::int64_t> expected;
    while (count-- > 0 && !model_.empty()) {
      expected.push_back(*model_.begin());
      model_.erase(model_.begin());
    }
    ASSERT_EQ(taken, expected);
  }
  void compare(std::int64_t probe) {
    ASSERT_TRUE(is_canonical(set_));
    ASSERT_EQ(set_.size(), static_cast<std::int64_t>(model_.size()));
    ASSERT_EQ(members(set_.ranges()), std::vector<std::int64_t>(model_.begin(), model_.end()));
    ASSERT_EQ(set_.contains(probe), model_.contains(probe));
    const auto next = model_.lower_bound(probe);
    ASSERT_EQ(set_.first_from(probe), next == model_.end() ? std::nullopt : std::optional(*next));
    ASSERT_EQ(set_.first(), model_.empty() ? std::nullopt : std::optional(*model_.begin()));
  }

  IntervalSet set_;
  std::set<std::int64_t> model_;
};

TEST_P(IntervalSetProperty, BehavesAsASetOfIntegers) {
  std::mt19937 random(GetParam());
  std::uniform_int_distribution<std::int64_t> place(0, 60);
  std::uniform_int_distribution<std::int64_t> length(0, 12);
  for (int step = 0; step < 2000; ++step) {
    const std::int64_t begin = place(random);
    const std::int64_t end = begin + length(random);
    switch (random() % 8) {
      case 0: take(length(random)); break;
      case 1:
      case 2:
      case 3: erase(begin, end); break;
      default: insert(begin, end); break;
    }
    ASSERT_NO_FATAL_FAILURE(compare(place(random))) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, IntervalSetProperty, testing::Range(0U, 8U));

// Every subset of a small universe, as a bit mask and as a set.
constexpr std::int64_t kUniverse = 6;

IntervalSet set_of(unsigned mask) {
  IntervalSet set;
  for (std::int64_t value = 0; value < kUniverse; ++value) {
    if ((mask >> value & 1U) != 0) set.insert(value);
  }
  return set;
}

unsigned mask_of(const IntervalSet& set) {
  unsigned mask = 0;
  for (const std::int64_t value : members(set.ranges())) mask |= 1U << value;
  return mask;
}

unsigned mask_of_range(std::int64_t begin, std::int64_t end) {
  unsigned mask = 0;
  for (std::int64_t value = begin; value < end; ++value) mask |= 1U << value;
  return mask;
}

TEST(IntervalSetExhaustive, InsertAndEraseOfEveryRangeInEverySubset) {
  for (unsigned mask = 0; mask < 1U << kUniverse; ++mask) {
    for (std::int64_t begin = 0; begin <= kUniverse; ++begin) {
      for (std::int64_t end = begin; end <= kUniverse; ++end) {
        IntervalSet inserted = set_of(mask);
        IntervalSet erased = inserted;
        inserted.insert(begin, end);
        erased.erase(begin, end);
        ASSERT_EQ(mask_of(inserted), mask | mask_of_range(begin, end));
        ASSERT_EQ(mask_of(erased), mask & ~mask_of_range(begin, end));
        ASSERT_TRUE(is_canonical(inserted));
        ASSERT_TRUE(is_canonical(erased));
      }
    }
  }
}

TEST(IntervalSetExhaustive, TakingSplitsEverySubsetInOrder) {
  for (unsigned mask = 0; mask < 1U << kUniverse; ++mask) {
    for (std::int64_t count = 0; count <= kUniverse + 1; ++count) {
      IntervalSet rest = set_of(mask);
      const std::vector<std::int64_t> all = members(rest.ranges());
      const std::vector<std::int64_t> taken = members(rest.take(count));
      const auto expected = std::min<std::size_t>(all.size(), static_cast<std::size_t>(count));
      ASSERT_EQ(taken,
                std::vector<std::int64_t>(all.begin(), all.begin() + std::int64_t(expected)));
      std::vector<std::int64_t> joined = taken;
      for (const std::int64_t value : members(rest.ranges())) joined.push_back(value);
      ASSERT_EQ(joined, all);
    }
  }
}

TEST(IntervalSetExhaustive, EqualSetsHaveEqualRanges) {
  for (unsigned a = 0; a < 1U << kUniverse; ++a) {
    for (unsigned b = 0; b < 1U << kUniverse; ++b) {
      ASSERT_EQ(set_of(a) == set_of(b), a == b);
    }
  }
}

TEST(IntervalSet, ReachesTheLargestIntegers) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  IntervalSet set = IntervalSet::of(kMax - 5, kMax);
  EXPECT_EQ(set.size(), 5);
  EXPECT_TRUE(set.contains(kMax - 1));
  EXPECT_FALSE(set.contains(kMax));
  set.erase(kMax - 3);
  EXPECT_EQ(set.first_from(kMax - 3), kMax - 2);
  EXPECT_EQ(set.take(kMax).size(), 2U);
  EXPECT_TRUE(set.empty());
}

TEST(IntervalSet, ManyHolesCostWhatTheyAre) {
  IntervalSet set = IntervalSet::of(0, 100'000);
  for (std::int64_t value = 1; value < 100'000; value += 2) set.erase(value);
  EXPECT_EQ(set.size(), 50'000);
  EXPECT_EQ(set.ranges().size(), 50'000U);
  set.insert(0, 100'000);
  EXPECT_EQ(set.ranges().size(), 1U);
}

}  // namespace
}  // namespace runnel
