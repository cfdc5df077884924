#include "cli/flag_value.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

std::string fault(const std::string& text, Limits limits) {
  const auto number = parse_number("--tail", text, limits);
  return number.ok() ? "none" : number.error().to_string();
}

TEST(FlagValue, ANumberNamesItsLimits) {
  EXPECT_EQ(MUST(parse_number("--tail", "-7", {-7, 7})), -7);
  for (const char* text : {"", "x", "7x", " 7", "8", "-1", "7.0", "99999999999999999999"}) {
    EXPECT_EQ(fault(text, {0, 7}), "--tail: '" + std::string(text) +
                                       "' is not a whole number from 0 to 7; "
                                       "write such a number, or leave the flag out");
  }
}

TEST(FlagValue, AFormOfOutputIsAWordInAnyCase) {
  EXPECT_EQ(MUST(parse_output("JSON")), Output::kJson);
  EXPECT_EQ(parse_output("ymal").error().to_string(),
            "--output: 'ymal' is not a form of output; "
            "write table, wide, tsv, json, yaml or name; did you mean yaml?");
  EXPECT_EQ(parse_output("{json").error().value, "{json");
}

}  // namespace
}  // namespace runnel::cli
