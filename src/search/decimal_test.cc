#include "search/decimal.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

TEST(Decimal, ReadsTheWholeTextOrNothing) {
  EXPECT_EQ(parsed<std::int64_t>("-12"), -12);
  EXPECT_EQ(parsed<double>("1e-3"), 0.001);
  EXPECT_EQ(parsed<double>("0.5x"), std::nullopt);
  EXPECT_EQ(parsed<double>(""), std::nullopt);
  EXPECT_EQ(parsed<std::int64_t>("99999999999999999999"), std::nullopt);
}

TEST(Decimal, TheShortestTextReadsBackTheSame) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 12345678.9, -0.0}) {
    EXPECT_EQ(parsed<double>(shortest(value)), value);
  }
  EXPECT_EQ(shortest(0.1), "0.1");
}

TEST(Decimal, SumsLoseTheirLastDigits) {
  EXPECT_EQ(shortest(rounded_to_digits(0.1 + 2 * 0.1)), "0.3");
  EXPECT_EQ(shortest(rounded_to_digits(-5.0)), "-5");
}

TEST(DecimalDeathTest, ABoundThatIsNoNumberIsOurBug) {
  EXPECT_DEATH(number_of<double>("abc"), "no number");
}

}  // namespace
}  // namespace runnel::search
