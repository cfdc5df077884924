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

TEST(TextWidth, KnowsEveryScript) {
  EXPECT_EQ(text_width("한국어"), 6U);
  EXPECT_EQ(text_width("ＡＢ"), 4U) << "full width";
  EXPECT_EQ(text_width("ｱｲ"), 2U) << "half width";
  EXPECT_EQ(text_width("𠀋"), 2U) << "beyond the first plane";
  EXPECT_EQ(text_width("✅⌛🚀🫠"), 8U) << "pictures, old and new";
  EXPECT_EQ(text_width("✓▶"), 2U) << "signs that are text";
  EXPECT_EQ(text_width("שָׁ"), 1U);
  EXPECT_EQ(text_width("कि"), 1U);
  EXPECT_EQ(text_width("กำ้"), 2U);
  EXPECT_EQ(text_width("a\xe2\x80\x8b"
                       "b"),
            2U)
      << "a space without width";
}

TEST(TextWidth, WhatIsNotUtf8TakesAColumnPerByte) {
  EXPECT_EQ(text_width("a\xff"
                       "b"),
            3U);
  EXPECT_EQ(text_width("\xe6\x97"), 2U) << "a character that was cut off";
  EXPECT_EQ(text_width("\xc0\xaf"), 2U) << "longer than it need be";
  EXPECT_EQ(text_width("\xed\xa0\x80"), 3U) << "half of a pair";
  EXPECT_EQ(text_width("\xf4\x90\x80\x80"), 4U) << "beyond the last";
  EXPECT_EQ(text_width("a\tb"), 3U) << "a control character";
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
