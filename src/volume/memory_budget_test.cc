#include "volume/memory_budget.h"

#include <string>

#include <gtest/gtest.h>

#include "volume/recently_used.h"

namespace runnel::volume {
namespace {

using Values = RecentlyUsed<std::string, int>;

TEST(MemoryBudget, WhatWasUsedLongestAgoGoesWhoseverItIs) {
  MemoryBudget budget(100);
  Values one(budget);
  Values other(budget);
  one.keep("a", 1, 40);
  other.keep("b", 2, 40);
  EXPECT_NE(one.find("a"), nullptr);
  one.keep("c", 3, 40);
  EXPECT_EQ(other.find("b"), nullptr);
  EXPECT_EQ(other.size(), 0U);
  EXPECT_EQ(one.size(), 80U);
  EXPECT_EQ(budget.size(), 80U);
}

TEST(MemoryBudget, OneThatIsLargerIsKeptAlone) {
  MemoryBudget budget(100);
  Values values(budget);
  values.keep("a", 1, 40);
  values.keep("b", 2, 400);
  EXPECT_EQ(values.find("a"), nullptr);
  EXPECT_EQ(*values.find("b"), 2);
}

TEST(MemoryBudget, AnotherValueUnderAKeyTakesItsPlace) {
  MemoryBudget budget(100);
  Values values(budget);
  values.keep("a", 1, 90);
  values.keep("a", 2, 50);
  EXPECT_EQ(*values.find("a"), 2);
  EXPECT_EQ(budget.size(), 50U);
}

TEST(MemoryBudget, AnOwnerThatEndsKeepsNothing) {
  MemoryBudget budget(100);
  Values stays(budget);
  stays.keep("a", 1, 40);
  {
    Values ends(budget);
    ends.keep("b", 2, 40);
  }
  EXPECT_EQ(budget.size(), 40U);
  stays.keep("c", 3, 90);
  EXPECT_EQ(stays.find("a"), nullptr);
}

TEST(MemoryBudget, WhatIsNotUsedForSomeLooksGoes) {
  MemoryBudget budget(100);
  Values values(budget);
  values.keep("a", 1, 10);
  values.keep("b", 2, 10);
  budget.drop_unused(2);
  EXPECT_NE(values.find("b"), nullptr);
  budget.drop_unused(2);
  EXPECT_NE(values.peek("a"), nullptr) << "two looks have not passed";
  budget.drop_unused(2);
  EXPECT_EQ(values.peek("a"), nullptr);
  EXPECT_NE(values.peek("b"), nullptr);
  budget.drop_unused(2);
  EXPECT_EQ(budget.size(), 0U);
}

}  // namespace
}  // namespace runnel::volume
