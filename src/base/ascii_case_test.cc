#include "base/ascii_case.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

TEST(AsciiCase, MakesLettersSmallAndNothingElse) {
  EXPECT_EQ(to_lower("AZaz09@[`{ \xC3\x84"), "azaz09@[`{ \xC3\x84");
  EXPECT_EQ(to_lower(""), "");
}

TEST(AsciiCase, IsIgnoredInALikeText) {
  EXPECT_TRUE(equal_ignoring_case("Content-Type", "content-TYPE"));
  EXPECT_FALSE(equal_ignoring_case("a", "ab"));
  EXPECT_FALSE(equal_ignoring_case("@", "`")) << "these are no letters";
}

}  // namespace
}  // namespace runnel
