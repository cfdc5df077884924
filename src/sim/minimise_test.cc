#include "sim/minimise.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace runnel::sim {
namespace {

Scenario of_faults(int count) {
  Scenario scenario;
  for (int i = 0; i < count; ++i) scenario.faults.push_back({FaultKind::kStorm, {}, {}, 0});
  for (int i = 0; i < count; ++i)
    scenario.faults[static_cast<std::size_t>(i)].node = static_cast<std::size_t>(i);
  scenario.wishes.resize(10);
  return scenario;
}

bool has(const Scenario& scenario, std::size_t node) {
  return std::any_of(scenario.faults.begin(), scenario.faults.end(),
                     [&](const Fault& fault) { return fault.node == node; });
}

TEST(Minimise, WhatIsNeededTogetherIsLeftOfAThousand) {
  int asked = 0;
  const Scenario small = minimise(
      of_faults(1'000),
      [&](const Scenario& scenario) {
        ++asked;
        return has(scenario, 17) && has(scenario, 900);
      },
      1'000);
  ASSERT_EQ(small.faults.size(), 2U);
  EXPECT_EQ(small.faults[0].node, 17U);
  EXPECT_EQ(small.faults[1].node, 900U);
  EXPECT_TRUE(small.wishes.empty());
  EXPECT_LT(asked, 100);
}

TEST(Minimise, NothingIsLeftOfWhatNeedsNoFault) {
  const Scenario small = minimise(of_faults(5), [](const Scenario&) { return true; }, 100);
  EXPECT_TRUE(small.faults.empty());
  EXPECT_TRUE(small.wishes.empty());
}

TEST(Minimise, AsksNoMoreThanItMay) {
  int asked = 0;
  const Scenario small = minimise(
      of_faults(1'000),
      [&](const Scenario& scenario) {
        ++asked;
        return scenario.faults.size() >= 400;
      },
      50);
  EXPECT_EQ(asked, 50);
  EXPECT_GE(small.faults.size(), 400U);
  EXPECT_LT(small.faults.size(), 1'000U);
}

}  // namespace
}  // namespace runnel::sim
