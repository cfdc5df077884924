#include "cli/printable.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(Printable, LeavesTextAlone) {
  for (const char* text : {"", "plain",
                           "Gr\xc3\xbc\xc3\x9f"
                           "e",
                           "\xe6\x97\xa5\xe6\x9c\xac", "a\\nb", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(printable(text), text);
    EXPECT_EQ(printable_lines(text), text);
  }
}

TEST(Printable, WritesControlCharactersOut) {
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1b[2J\x07\x7f"), "\\x1b[2J\\x07\\x7f");
  EXPECT_EQ(printable(std::string_view("\0x", 2)), "\\x00x");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\x9b2J")
      << "an escape sequence in one character";
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "gpj.exe"),
            "\\u202egpj.exe")
      << "it turns the line around";
}

TEST(Printable, WritesBytesOutThatAreNoText) {
  EXPECT_EQ(printable("\xff|\xc3|\xe2\x80"), "\\xff|\\xc3|\\xe2\\x80");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
}

TEST(Printable, OfLinesOnlyLineEndsAndTabsStay) {
  EXPECT_EQ(printable_lines("a\nb\tc\r\n\x1b[0m"), "a\nb\tc\\r\n\\x1b[0m");
}

}  // namespace
}  // namespace runnel::cli
