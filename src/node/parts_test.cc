#include "node/parts.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/ids.h"
#include "node/testing/random_message.h"

namespace runnel::node {
namespace {

using testing::RandomMessage;

News random_news(std::uint64_t seed) {
  News all;
  RandomMessage random(seed);
  for (int each = 0; each < 6; ++each) append(all, news_of(random.up()));
  if (seed % 3 == 0) all.devices.emplace();
  return all;
}

TEST(Parts, OfTwoLooksAtDevicesTheLaterOneCounts) {
  News all;
  all.devices.emplace().missing.emplace_back().index = 1;
  News more;
  append(all, more);
  EXPECT_TRUE(all.devices.has_value());
  more.devices.emplace();
  append(all, more);
  EXPECT_TRUE(all.devices->missing.empty());
  EXPECT_EQ(size_of(all), 1U);
}

TEST(Parts, PiecesTellTheSameInOrderAndAreBounded) {
  EXPECT_TRUE(in_pieces({}, 1).empty());
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const News news = random_news(seed);
    const std::size_t size_max = 1 + seed % 7;
    News told;
    for (News& piece : in_pieces(news, size_max)) {
      EXPECT_GE(size_of(piece), 1U);
      EXPECT_LE(size_of(piece), size_max) << "of attempts with one report each";
      const bool has_ranks = !told.ranks.empty();
      EXPECT_FALSE(has_ranks && (!piece.health.empty() || piece.devices)) << "behind an end";
      append(told, std::move(piece));
    }
    EXPECT_EQ(told.ranks, news.ranks) << "seed " << seed;
    EXPECT_EQ(told.health, news.health) << "seed " << seed;
    EXPECT_EQ(told.devices, news.devices) << "seed " << seed;
    EXPECT_EQ(told.metrics.size(), news.metrics.size()) << "seed " << seed;
  }
}

// Whether a trial reported what its search looks at is judged by all that is told with its end.
TEST(Parts, MetricsOfAnAttemptAreTogetherAndWithItsEnd) {
  News news;
  const auto attempt = [](std::int64_t task) {
    return model::AttemptRef{{JobId("j"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
  };
  for (std::int64_t step = 0; step < 3; ++step) {
    for (std::int64_t task = 0; task < 4; ++task) {
      news.metrics.push_back({attempt(task), step, {}, step == 2});
    }
  }
  for (std::int64_t task = 0; task < 2; ++task) {
    model::RankReport rank{attempt(task)};
    rank.rank = 1;
    rank.ended = true;
    news.ranks.push_back(rank);
    rank.rank = 0;
    news.ranks.push_back(rank);
  }
  for (const std::size_t size_max : {1U, 2U, 4U, 5U}) {
    std::map<model::AttemptRef, std::vector<std::int64_t>> steps;
    for (const News& piece : in_pieces(news, size_max)) {
      std::map<model::AttemptRef, std::vector<std::int64_t>> here;
      for (const auto& each : piece.metrics) here[each.attempt].push_back(each.step);
      for (const auto& [of, told] : here) {
        EXPECT_EQ(told, (std::vector<std::int64_t>{0, 1, 2})) << size_max;
        EXPECT_TRUE(steps.emplace(of, told).second);
      }
      for (const auto& rank : piece.ranks) {
        EXPECT_EQ(here.contains(rank.attempt), rank.rank == 0) << size_max;
      }
    }
    EXPECT_EQ(steps.size(), 4U);
  }
}

TEST(Parts, AnInventoryIsWholeAgain) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    RandomMessage random(seed);
    Inventory inventory;
    inventory.node.id = NodeId("n");
    inventory.crashed_idle = seed % 2 == 0;
    inventory.has = random_news(seed);
    for (std::int64_t each = 0; each < 3; ++each) {
      const News lost = random_news(seed + 1'000 * static_cast<std::uint64_t>(each + 1));
      if (lost.ranks.empty()) continue;
      inventory.beside.push_back({NodeId("m" + std::to_string(each)), lost.ranks});
    }
    const std::size_t size_max = 1 + seed % 5;
    Inventory last = inventory;
    std::vector<InventoryPart> parts = take_parts(last, size_max);
    EXPECT_EQ(last.parts, static_cast<std::int64_t>(parts.size()));
    for (const InventoryPart& part : parts) {
      std::size_t lost = 0;
      for (const model::LostRanks& each : part.beside) lost += each.ranks.size();
      EXPECT_EQ(size_of(part.has) + lost, size_max) << "only the last may have room";
    }
    make_whole(last, std::move(parts));
    EXPECT_EQ(last, inventory) << "seed " << seed;
  }
}

}  // namespace
}  // namespace runnel::node
