#include "extract/number.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel::extract {
namespace {

TEST(MetricNumber, IsWrittenAsJsonWantsIt) {
  const std::pair<const char*, const char*> cases[] = {
      {"3", "3"},           {"+3", "3"},        {"-3", "-3"},           {"007", "7"},
      {"0", "0"},           {"-0", "-0"},       {".5", "0.5"},          {"5.", "5"},
      {"0.2500", "0.2500"}, {"1e-05", "1e-05"}, {"-1.5E+3", "-1.5E+3"}, {"0x1F", "31"},
      {"NaN", "nan"},       {"-nan", "nan"},    {"inf", "inf"},         {"-Infinity", "-inf"},
      {"INF", "inf"},       {"5.e3", "5e3"}};
  for (const auto& [printed, text] : cases) {
    EXPECT_EQ(metric_number(printed, Digits::kDecimal), text) << printed;
  }
}

TEST(MetricNumber, IsReadInHexadecimalWhereThePatternSaysSo) {
  EXPECT_EQ(metric_number("1f", Digits::kHex), "31");
  EXPECT_EQ(metric_number("0xFFFFFFFFFFFFFFFF", Digits::kHex), "18446744073709551615");
  EXPECT_FALSE(metric_number("10000000000000000", Digits::kHex));
}

TEST(MetricNumber, IsNothingOfWhatIsNone) {
  for (const char* text : {"", "-", ".", "e3", "1e", "1.2.3", "x", "0x", "1,5", "--3", "nano"}) {
    EXPECT_FALSE(metric_number(text, Digits::kDecimal)) << text;
  }
  EXPECT_FALSE(metric_number(std::string(65, '1'), Digits::kDecimal));
}

TEST(MetricNumber, OfAFloatIsTheShortestThatReadsBack) {
  EXPECT_EQ(metric_number(0.1F), "0.1");
  EXPECT_EQ(metric_number(0.1), "0.1");
  EXPECT_EQ(metric_number(1e-7F), "1e-07");
  EXPECT_EQ(metric_number(-std::numeric_limits<float>::infinity()), "-inf");
  EXPECT_EQ(metric_number(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(StepNumber, IsWholeAndNotNegative) {
  EXPECT_EQ(step_number("12"), 12);
  for (const char* text : {"-1", "1.5", "nan", "", "99999999999999999999"}) {
    EXPECT_FALSE(step_number(text)) << text;
  }
}

}  // namespace
}  // namespace runnel::extract
