#include "cli/repeats.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::cli {
namespace {

json::Value line_of(int task) {
  return MUST(json::parse("{\"step\":\"s\",\"task\":" + std::to_string(task) + ",\"msg\":\"x\"}"));
}

TEST(Repeats, ToldOnceWithoutABreak) {
  Repeats repeats;
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(repeats.told_before(line_of(1), i % 4 == 3));
}

TEST(Repeats, LeavesOutWhatCameAfterTheLastCursor) {
  Repeats repeats;
  EXPECT_FALSE(repeats.told_before(line_of(1), true));
  EXPECT_FALSE(repeats.told_before(line_of(1), false));
  EXPECT_FALSE(repeats.told_before(line_of(1), false));
  repeats.broke();
  EXPECT_TRUE(repeats.told_before(line_of(1), false));
  repeats.broke();  // And once more before it got as far as it had been.
  EXPECT_TRUE(repeats.told_before(line_of(1), false));
  EXPECT_TRUE(repeats.told_before(line_of(1), false));
  EXPECT_FALSE(repeats.told_before(line_of(1), true));
  EXPECT_FALSE(repeats.told_before(line_of(1), false));
}

TEST(Repeats, KnowsTheRanksApart) {
  Repeats repeats;
  EXPECT_FALSE(repeats.told_before(line_of(2), false));
  EXPECT_FALSE(repeats.told_before(line_of(2), false));
  repeats.broke();
  EXPECT_FALSE(repeats.told_before(line_of(1), true)) << "it had nothing to say before";
  EXPECT_TRUE(repeats.told_before(line_of(2), true)) << "a piece may be cut elsewhere now";
  EXPECT_TRUE(repeats.told_before(line_of(2), false));
  EXPECT_FALSE(repeats.told_before(line_of(2), true));
}

}  // namespace
}  // namespace runnel::cli
