#include "cli/text_width.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

using Lines = std::vector<std::string>;

TEST(TextWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(text_width(""), 0U);
  EXPECT_EQ(text_width("abc"), 3U);
  EXPECT_EQ(text_width("Grüße"), 5U);
  EXPECT_EQ(text_width("日本"), 4U);
  EXPECT_EQ(text_width("e\xcc\x81"), 1U) << "an accent stands on its letter";
  EXPECT_EQ(text_width("▁▂▃"), 3U);
}

TEST(TextWidth, CutsWhatDoesNotFitAndSaysSo) {
  EXPECT_EQ(cut_to("abc", 3), "abc");
  EXPECT_EQ(cut_to("abcd", 3), "ab…");
  EXPECT_EQ(cut_to("日本語", 4), "日…") << "half a letter is none";
  EXPECT_EQ(cut_to("abcd", 1), "…");
}

TEST(TextWidth, WrapsBetweenWords) {
  EXPECT_EQ(wrapped("", 5), Lines{""});
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("incomprehensible it is", 5), (Lines{"incomprehensible", "it is"}));
  EXPECT_EQ(wrapped("fits", 4), Lines{"fits"});
  EXPECT_EQ(wrapped("  in  by two", 8), (Lines{"  in  by", "two"}));
}

}  // namespace
}  // namespace runnel::cli
