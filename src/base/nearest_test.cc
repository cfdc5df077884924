#include "base/nearest.h"

#include <array>

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr std::array<std::string_view, 6> kFields = {"resources",  "retry",  "run",
                                                     "depends_on", "params", "command"};

TEST(Nearest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(nearest("resource", kFields), "resources");
  EXPECT_EQ(nearest("resoruces", kFields), "resources");
  EXPECT_EQ(nearest("depend_on", kFields), "depends_on");
  EXPECT_EQ(nearest("comand", kFields), "command");
  EXPECT_EQ(nearest("rnu", kFields), "run");
  EXPECT_EQ(nearest("prams", kFields), "params");
}

TEST(Nearest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(nearest("zzzzz", kFields), "");
  EXPECT_EQ(nearest("x", kFields), "");
  EXPECT_EQ(nearest("", kFields), "");
  EXPECT_EQ(nearest("run", {}), "");
  EXPECT_EQ(nearest(std::string(1000, 'r'), kFields), "");
}

TEST(Nearest, OneLetterIsNoSimilarity) {
  constexpr std::array<std::string_view, 2> kShort = {"a", "b"};
  EXPECT_EQ(nearest("c", kShort), "");
  EXPECT_EQ(nearest("ab", kShort), "a");
}

TEST(Nearest, TakesTheClosestAndThenTheFirst) {
  constexpr std::array<std::string_view, 3> kWords = {"gates", "gate", "grate"};
  EXPECT_EQ(nearest("gate", kWords), "gate");
  EXPECT_EQ(nearest("gats", kWords), "gates");
}

TEST(Nearest, ASwapCountsOnce) {
  constexpr std::array<std::string_view, 1> kWord = {"abc"};
  EXPECT_EQ(nearest("acb", kWord), "abc");
  EXPECT_EQ(nearest("cab", kWord), "");
}

}  // namespace
}  // namespace runnel
