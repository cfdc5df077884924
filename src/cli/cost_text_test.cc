#include "cli/cost_text.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

std::string text_for(const char* cost, const char* now = "2026-01-01T01:30:00Z") {
  const json::Value document = MUST(json::parse(std::string("{\"cost\":") + cost + "}"));
  return cost_text(document, MUST(parse_rfc3339(now)));
}

TEST(CostText, NumbersWithoutNeedlessZeros) {
  EXPECT_EQ(price_text(Money::micros(96'000)), "0.096");
  EXPECT_EQ(price_text(Money::micros(3'060'000)), "3.06");
  EXPECT_EQ(price_text(Money::micros(0)), "0");
  EXPECT_EQ(price_text(Money::micros(12'000'000)), "12");
  EXPECT_EQ(thousandths(2'500), "2.5");
  EXPECT_EQ(without_zeros("100.000000"), "100");
  EXPECT_EQ(without_zeros("100"), "100");
}

TEST(CostText, OfAJobThatEnded) {
  EXPECT_EQ(text_for(R"({"as_of":"2026-01-01T01:00:00Z","list":0.025600,"list_per_hour":0.000000,)"
                     R"("spent":0.025600,"spent_per_hour":0.000000})"),
            "$0.0256");
}

TEST(CostText, ARunningJobGoesOn) {
  EXPECT_EQ(text_for(R"({"as_of":"2026-01-01T01:00:00Z","list":1.000000,"list_per_hour":2.000000,)"
                     R"("spent":1.000000,"spent_per_hour":2.000000})"),
            "$2.0000 so far, $2.0000 an hour");
}

TEST(CostText, SaysWhatSpotNodesSaved) {
  EXPECT_EQ(text_for(R"({"as_of":"2026-01-01T01:00:00Z","list":40.0,"list_per_hour":0,)"
                     R"("spent":12.0,"spent_per_hour":0})"),
            "$12.00; spot saved $28.00 (70 %)");
}

TEST(CostText, NothingWithoutAPrice) { EXPECT_EQ(cost_text(json::Value::object(), Time()), ""); }

}  // namespace
}  // namespace runnel::cli
