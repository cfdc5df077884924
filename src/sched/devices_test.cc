#include "sched/devices.h"

#include <random>

#include <gtest/gtest.h>

namespace runnel::sched {
namespace {

IntervalSet set_of(std::initializer_list<std::int64_t> members) {
  IntervalSet set;
  for (std::int64_t member : members) set.insert(member);
  return set;
}

TEST(PickIndices, TheLowestThatFollowEachOther) {
  EXPECT_EQ(pick_indices({}, 8, 2), set_of({0, 1}));
  EXPECT_EQ(pick_indices(set_of({0, 2, 3}), 8, 1), set_of({1}));
  EXPECT_EQ(pick_indices(set_of({0, 2, 3}), 8, 2), set_of({4, 5}));
  EXPECT_EQ(pick_indices({}, 8, 0), IntervalSet());
}

TEST(PickIndices, TheLowestWhereNoneFollowEachOther) {
  EXPECT_EQ(pick_indices(set_of({1, 3, 5}), 6, 3), set_of({0, 2, 4}));
  EXPECT_EQ(pick_indices(set_of({2, 5}), 8, 4), set_of({0, 1, 3, 4}));
}

TEST(PickIndices, NoneThatTheNodeDoesNotHaveAnyMore) {
  EXPECT_EQ(pick_indices(set_of({0, 6, 7}), 4, 3), set_of({1, 2, 3}));
  EXPECT_DEATH((void)pick_indices(set_of({0, 1}), 4, 3), "more devices are granted than are free");
}

// Whatever is taken and given back, nobody gets what another has.
TEST(PickIndices, NeverWhatIsHeld) {
  std::mt19937_64 random(11);
  IntervalSet held;
  std::vector<IntervalSet> grants;
  for (int round = 0; round < 5'000; ++round) {
    const auto wanted = static_cast<std::int64_t>(random() % 4) + 1;
    if (held.size() + wanted <= 16 && random() % 2 == 0) {
      grants.push_back(pick_indices(held, 16, wanted));
      ASSERT_EQ(grants.back().size(), wanted);
      const std::int64_t before = held.size();
      for (const auto& [begin, end] : grants.back().ranges()) held.insert(begin, end);
      ASSERT_EQ(held.size(), before + wanted) << "one of them was held";
      ASSERT_FALSE(held.first_from(16));
    } else if (!grants.empty()) {
      const std::size_t which = random() % grants.size();
      for (const auto& [begin, end] : grants[which].ranges()) held.erase(begin, end);
      grants.erase(grants.begin() + static_cast<std::ptrdiff_t>(which));
    }
  }
}

TEST(PickDevices, OfEachKindThatIsWanted) {
  model::Resources node;
  node.accelerators = {{"H100", 8}, {"L4", 2}};
  model::Resources wanted;
  wanted.accelerators = {{"H100", 2}};
  EXPECT_EQ(pick_devices({{"H100", set_of({0})}, {"L4", set_of({0})}}, node, wanted),
            (model::Devices{{"H100", set_of({1, 2})}}));
  EXPECT_EQ(pick_devices({}, node, {}), model::Devices());
}

}  // namespace
}  // namespace runnel::sched
