#include "runner/text_block.h"

#include <gtest/gtest.h>

namespace runnel::runner {
namespace {

using namespace std::string_view_literals;

TEST(TextBlock, HoldsTextsAsTheKernelWantsThem) {
  TextBlock block{"PATH=/bin", ""};
  block.push_back("NAME", "a=b");
  EXPECT_EQ(block.bytes(), "PATH=/bin\0\0NAME=a=b\0"sv);
  EXPECT_EQ(block.texts(), (std::vector<std::string_view>{"PATH=/bin", "", "NAME=a=b"}));
  std::vector<char*> pointers;
  block.append_pointers(pointers);
  ASSERT_EQ(pointers.size(), 3U);
  EXPECT_STREQ(pointers[0], "PATH=/bin");
  EXPECT_STREQ(pointers[1], "");
  EXPECT_STREQ(pointers[2], "NAME=a=b");
}

TEST(TextBlock, FindsValues) {
  const TextBlock block{"PATHS=x", "PATH=/bin", "EMPTY=", "PATH=later"};
  EXPECT_EQ(block.value_of("PATH"), "/bin");
  EXPECT_EQ(block.value_of("PATHS"), "x");
  EXPECT_EQ(block.value_of("EMPTY"), "");
  EXPECT_EQ(block.value_of("PAT"), "");
  EXPECT_EQ(TextBlock().value_of("PATH"), "");
}

TEST(TextBlock, KnowsBytesThatAreNone) {
  EXPECT_TRUE(TextBlock::valid(""));
  EXPECT_TRUE(TextBlock::valid("a\0"sv));
  EXPECT_FALSE(TextBlock::valid("a"));
  EXPECT_EQ(TextBlock::of_bytes(std::string("a\0b\0"sv)), (TextBlock{"a", "b"}));
  EXPECT_TRUE(TextBlock().empty());
}

TEST(TextBlockDeathTest, RefusesZeroBytes) {
  TextBlock block;
  EXPECT_DEATH(block.push_back("a\0b"sv), "zero byte");
  EXPECT_DEATH(block.push_back("a", "b\0c"sv), "zero byte");
  EXPECT_DEATH((void)TextBlock::of_bytes("a"), "zero byte");
}

}  // namespace
}  // namespace runnel::runner
