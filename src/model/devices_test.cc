#include "model/devices.h"

#include <random>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

IntervalSet set_of(std::initializer_list<std::int64_t> members) {
  IntervalSet set;
  for (std::int64_t member : members) set.insert(member);
  return set;
}

Resources asked(std::map<std::string, std::int64_t> accelerators) {
  Resources amount;
  amount.accelerators = std::move(accelerators);
  return amount;
}

TEST(Devices, PlacesShareThemInOrder) {
  const Devices all = {{"H100", set_of({0, 1, 5, 7})}, {"L4", set_of({2, 3})}};
  EXPECT_EQ(part_of(all, 0, 2), (Devices{{"H100", set_of({0, 1})}, {"L4", set_of({2})}}));
  EXPECT_EQ(part_of(all, 1, 2), (Devices{{"H100", set_of({5, 7})}, {"L4", set_of({3})}}));
  EXPECT_EQ(part_of({}, 1, 2), Devices());
}

TEST(Devices, CoverWhatWasAskedForAndNoLess) {
  const Devices held = {{"H100", set_of({1, 2})}};
  EXPECT_TRUE(covers(held, asked({{"H100", 2}})));
  EXPECT_FALSE(covers(held, asked({{"H100", 3}})));
  EXPECT_FALSE(covers({}, asked({{"H100", 1}})));
  EXPECT_TRUE(covers({}, asked({})));
}

TEST(Devices, AreWithinANodeThatHasThem) {
  EXPECT_TRUE(are_within({{"H100", set_of({0, 3})}}, asked({{"H100", 4}})));
  EXPECT_FALSE(are_within({{"H100", set_of({0, 4})}}, asked({{"H100", 4}})));
  EXPECT_FALSE(are_within({{"L4", set_of({0})}}, asked({{"H100", 4}})));
  EXPECT_TRUE(are_within({}, asked({})));
}

TEST(Devices, OverlapKindByKind) {
  const Devices held = {{"H100", set_of({0, 4})}};
  EXPECT_TRUE(overlap(held, {{"H100", set_of({3, 4})}}));
  EXPECT_FALSE(overlap(held, {{"H100", set_of({1, 2, 3})}}));
  EXPECT_FALSE(overlap(held, {{"L4", set_of({0})}}));
}

TEST(Devices, AreAddedAndTakenAway) {
  Devices held = {{"H100", set_of({0})}};
  insert(held, {{"H100", set_of({2})}, {"L4", set_of({1})}});
  EXPECT_EQ(describe(held), "H100:0,2 L4:1");
  erase(held, {{"H100", set_of({0})}, {"L4", set_of({1})}});
  EXPECT_EQ(held, (Devices{{"H100", set_of({2})}})) << "a kind of which there is none has no entry";
}

TEST(DevicesDeathTest, APlaceThatIsNotThereIsOurBug) {
  const Devices all = {{"H100", set_of({0, 1, 2})}};
  EXPECT_DEATH((void)part_of(all, 0, 0), "shared by no places");
  EXPECT_DEATH((void)part_of(all, 3, 3), "after the last");
  EXPECT_DEATH((void)part_of(all, -1, 3), "before the first");
  EXPECT_DEATH((void)part_of(all, 0, 2), "the same number of devices");
}

// Whatever is inserted and erased, a set is what a list of its members would be.
TEST(Devices, BehaveAsTheirMembers) {
  std::mt19937_64 random(3);
  Devices held;
  std::set<std::pair<std::string, std::int64_t>> members;
  for (int round = 0; round < 3'000; ++round) {
    const std::string kind = random() % 2 == 0 ? "H100" : "L4";
    const auto begin = static_cast<std::int64_t>(random() % 10);
    const auto end = begin + 1 + static_cast<std::int64_t>(random() % 3);
    const Devices some = {{kind, IntervalSet::of(begin, end)}};
    bool common = false;
    for (std::int64_t index = begin; index < end; ++index) {
      common = common || members.contains({kind, index});
    }
    ASSERT_EQ(overlap(held, some), common);
    ASSERT_EQ(overlap(some, held), common);
    const bool adds = random() % 2 == 0;
    for (std::int64_t index = begin; index < end; ++index) {
      adds ? void(members.insert({kind, index})) : void(members.erase({kind, index}));
    }
    adds ? insert(held, some) : erase(held, some);
    std::set<std::pair<std::string, std::int64_t>> now;
    for (const auto& [each, indices] : held) {
      ASSERT_FALSE(indices.empty());
      for (std::int64_t index = 0; index < 16; ++index) {
        if (indices.contains(index)) now.insert({each, index});
      }
    }
    ASSERT_EQ(now, members);
  }
}

// Places together have all, each as many as the others, none what another has.
TEST(Devices, PartsAreWhole) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    const auto parts = static_cast<std::int64_t>(random() % 4) + 1;
    const auto each = static_cast<std::int64_t>(random() % 3) + 1;
    Devices all;
    while (all["H100"].size() < parts * each) {
      all["H100"].insert(static_cast<std::int64_t>(random() % 32));
    }
    Devices together;
    for (std::int64_t part = 0; part < parts; ++part) {
      const Devices own = part_of(all, part, parts);
      ASSERT_EQ(own.at("H100").size(), each);
      ASSERT_FALSE(overlap(together, own));
      insert(together, own);
    }
    ASSERT_EQ(together, all);
  }
}

}  // namespace
}  // namespace runnel::model
