#include "home/paths.h"

#include <gtest/gtest.h>

namespace runnel::home {
namespace {

TEST(Paths, AreMadeAbsoluteWithoutDots) {
  EXPECT_EQ(*absolute_path("/a/./b/../c/"), "/a/c");
  EXPECT_EQ(*absolute_path("/.."), "/");
  EXPECT_EQ(*absolute_path("/"), "/");
  EXPECT_EQ(*absolute_path("x/y"), *absolute_path(".") + "/x/y");
}

TEST(Paths, OfNothingAreThisFolder) {
  EXPECT_EQ(*absolute_path(""), *absolute_path("."));
  EXPECT_EQ(*absolute_path("./"), *absolute_path("."));
  EXPECT_EQ(*absolute_path("a/../"), *absolute_path("."));
}

}  // namespace
}  // namespace runnel::home
