#include "cli/short_number.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(ShortNumber, KeepsSixDigits) {
  EXPECT_EQ(short_number("0.833299994468689"), "0.8333");
  EXPECT_EQ(short_number("0.13989634531547274"), "0.139896");
  EXPECT_EQ(short_number("12345678.9"), "1.23457e+07");
  EXPECT_EQ(short_number("-1.0000000001e-12"), "-1e-12");
}

TEST(ShortNumber, LeavesTheRestAlone) {
  for (const char* text : {"0.5", "128", "adam", "", "inf", "nan", "1234567", "12:30:00 or so"}) {
    EXPECT_EQ(short_number(text), text);
  }
}

}  // namespace
}  // namespace runnel::cli
