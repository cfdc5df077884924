#include "volume/fetch_plan.h"

#include <gtest/gtest.h>

namespace runnel::volume {
namespace {

Extent at(const std::string& pack, std::uint64_t offset, std::uint64_t stored) {
  return {ObjectId::of(pack, "12345678"), offset, stored, stored, Codec::kRaw, {}};
}

TEST(FetchPlan, NeighboursGoTogetherInAnyOrder) {
  const auto fetches = plan_fetches({at("a", 208, 100), at("a", 8, 100), at("a", 108, 100)});
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].range.offset, 8U);
  EXPECT_EQ(fetches[0].range.length, 300U);
  EXPECT_EQ(fetches[0].extents, (std::vector<std::size_t>{1, 2, 0}));
}

TEST(FetchPlan, WhatIsFarOrElsewhereIsAskedForByItself) {
  EXPECT_EQ(plan_fetches({at("a", 8, 100), at("b", 108, 100)}).size(), 2U);
  EXPECT_EQ(plan_fetches({at("a", 8, 100), at("a", 108 + kFetchGapMax, 100)}).size(), 1U);
  EXPECT_EQ(plan_fetches({at("a", 8, 100), at("a", 109 + kFetchGapMax, 100)}).size(), 2U);
}

TEST(FetchPlan, NoRequestIsLargerThanItMayBe) {
  std::vector<Extent> extents;
  for (std::uint64_t chunk = 0; chunk < 40; ++chunk) {
    extents.push_back(at("a", 8 + chunk * kChunkBytesMax, kChunkBytesMax));
  }
  const auto fetches = plan_fetches(extents);
  EXPECT_EQ(fetches.size(), 5U);
  for (const Fetch& fetch : fetches) EXPECT_LE(fetch.range.length, kFetchBytesMax);
}

TEST(FetchPlan, HolesAndEqualExtentsCostNothingMore) {
  Extent hole;
  hole.length = 100;
  const auto fetches = plan_fetches({hole, at("a", 8, 100), at("a", 8, 100)});
  ASSERT_EQ(fetches.size(), 1U);
  EXPECT_EQ(fetches[0].range.length, 100U);
  EXPECT_EQ(fetches[0].extents.size(), 2U);
}

}  // namespace
}  // namespace runnel::volume
