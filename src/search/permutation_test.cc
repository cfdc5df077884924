#include "search/permutation.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

TEST(Permutation, ReachesEveryPositionOnce) {
  for (std::uint64_t size = 1; size <= 300; ++size) {
    std::vector<bool> reached(size, false);
    for (std::uint64_t position = 0; position < size; ++position) {
      const std::uint64_t to = permute(position, size, size * 7919);
      ASSERT_LT(to, size);
      ASSERT_FALSE(reached[to]) << size;
      reached[to] = true;
    }
  }
}

TEST(Permutation, OfTheLargestDomainsRepeatsNothing) {
  for (const std::uint64_t size : {kPermutationMax, kPermutationMax - 1, kPermutationMax / 4 + 1}) {
    std::set<std::uint64_t> reached;
    for (std::uint64_t position = 0; position < 10'000; ++position) {
      const std::uint64_t to = permute(size - 1 - position, size, 5);
      ASSERT_LT(to, size);
      ASSERT_TRUE(reached.insert(to).second);
    }
  }
}

// 10 cells, 20,000 keys: each cell expects 2,000 hits with a standard deviation of 42.
TEST(Permutation, FavoursNoPosition) {
  for (const std::uint64_t from : {0, 3, 9}) {
    std::vector<int> hits(10, 0);
    for (std::uint64_t key = 0; key < 20'000; ++key) ++hits[permute(from, 10, derive(1, key))];
    for (const int count : hits) EXPECT_NEAR(count, 2'000, 200);
  }
}

// 5 cells are the worst case of a network on 16: each expects 4,000 with a deviation of 57.
TEST(Permutation, FavoursNoPositionOfFew) {
  std::vector<int> hits(5, 0);
  for (std::uint64_t key = 0; key < 20'000; ++key) ++hits[permute(2, 5, derive(1, key))];
  for (const int count : hits) EXPECT_NEAR(count, 4'000, 230);
}

TEST(Permutation, DiffersByKey) {
  int same = 0;
  for (std::uint64_t position = 0; position < 1'000; ++position) {
    same += permute(position, 1'000, 1) == permute(position, 1'000, 2) ? 1 : 0;
  }
  EXPECT_LT(same, 20);  // One is expected.
}

TEST(Permutation, IsTheSameInEveryBuild) {
  std::vector<std::uint64_t> row;
  for (std::uint64_t position = 0; position < 8; ++position)
    row.push_back(permute(position, 8, 42));
  EXPECT_EQ(row, (std::vector<std::uint64_t>{0, 2, 4, 6, 3, 7, 5, 1}));
  EXPECT_EQ(permute(123'456'789, kPermutationMax, 42), 1007211024354695318u);
}

TEST(PermutationDeathTest, APositionOutsideIsOurBug) {
  EXPECT_DEATH(permute(5, 5, 0), "outside its permutation");
  EXPECT_DEATH(permute(0, kPermutationMax + 1, 0), "more than 2\\^62");
}

}  // namespace
}  // namespace runnel::search
