#include "sim/pool.h"

#include <cstring>
#include <memory>
#include <set>

#include <gtest/gtest.h>

namespace runnel::sim {
namespace {

TEST(PoolTest, GivesPiecesThatDoNotOverlap) {
  const auto pool = std::make_unique<Pool>();
  std::set<std::byte*> taken;
  for (std::size_t bytes : {0U, 1U, 16U, 17U, 1'000U, 1'024U}) {
    for (int each = 0; each < 100; ++each) {
      auto* piece = static_cast<std::byte*>(pool->take(bytes));
      ASSERT_NE(piece, nullptr);
      EXPECT_TRUE(pool->owns(piece));
      std::memset(piece, each, bytes);
      const auto next = taken.upper_bound(piece);
      if (next != taken.end()) {
        EXPECT_GE(*next - piece, static_cast<std::ptrdiff_t>(bytes));
      }
      EXPECT_TRUE(taken.insert(piece).second) << bytes;
    }
  }
}

TEST(PoolTest, TakesAgainWhatWasGiven) {
  const auto pool = std::make_unique<Pool>();
  void* first = pool->take(40);
  void* other = pool->take(400);
  pool->give(first);
  EXPECT_NE(pool->take(400), first) << "a piece of another size";
  EXPECT_EQ(pool->take(33), first);
  pool->give(other);
}

TEST(PoolTest, LeavesTheRestToSomebodyElse) {
  const auto pool = std::make_unique<Pool>();
  EXPECT_EQ(pool->take(Pool::kPieceMax + 1), nullptr);
  const int local = 0;
  EXPECT_FALSE(pool->owns(&local)) << "before anything was taken";
  EXPECT_NE(pool->take(1), nullptr);
  EXPECT_FALSE(pool->owns(&local));
}

}  // namespace
}  // namespace runnel::sim
