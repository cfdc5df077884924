#include "extract/pattern.h"

#include <gtest/gtest.h>

namespace runnel::extract {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

Pattern pattern_of(const std::string& regex) { return MUST(Pattern::create({"", regex})); }

Error refusal_of(const std::string& regex) {
  const Result<Pattern> pattern = Pattern::create({"", regex});
  if (pattern.ok()) return {};
  EXPECT_EQ(pattern.error().code, Errc::kInvalid);
  EXPECT_FALSE(pattern.error().hint.empty()) << regex;
  return pattern.error();
}

TEST(Pattern, ReadsNumbersByMacrosAndByGroups) {
  const Pattern pattern =
      pattern_of(R"(Iteration %{INT:step}, loss = %{FLOAT:loss}\s+(?P<lr>\S+))");
  const auto found =
      pattern.find("I0713 12:00:00.000001 77 x.cpp:1] Iteration 120, loss = .5 1e-3");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 120);
  EXPECT_EQ(found->values, (Values{{"loss", "0.5"}, {"lr", "1e-3"}}));
  EXPECT_FALSE(pattern.find("Iteration x"));
}

TEST(Pattern, CallsMetricsByTheirGroup) {
  const Pattern pattern =
      MUST(Pattern::create({"test", "%{INT:it} %{FLOAT:loss} %{FLOAT:acc}", 1, "it"}));
  const auto found = pattern.find("7 0.5 0.25");
  EXPECT_EQ(found->step, 7);
  EXPECT_EQ(found->values, (Values{{"test/acc", "0.25"}, {"test/loss", "0.5"}}));
}

TEST(Pattern, KnowsEveryMacro) {
  const std::pair<const char*, const char*> cases[] = {
      {"%{FLOAT:v}$", "-1.5e-3"}, {"%{FLOAT:v}$", "nan"},     {"%{FLOAT:v}$", "-Infinity"},
      {"^%{INT:v}$", "-12"},      {"^%{INT_ANY:v}$", "0x1f"}, {"^%{HEX:v}$", "ff"}};
  for (const auto& [regex, text] : cases) {
    const auto found = pattern_of(regex).find(text);
    ASSERT_TRUE(found) << regex;
    EXPECT_EQ(found->values.size(), 1U) << regex;
  }
  EXPECT_EQ(pattern_of("^%{HEX:v}$").find("ff")->values.front().second, "255");
  for (const char* stamp : {"I0713 10:20:30.123456", "W20260713 10:20:30.123456"}) {
    EXPECT_TRUE(pattern_of("^%{GLOG_STAMP} %{INT:v}$").find(std::string(stamp) + " 3")) << stamp;
  }
  for (const char* stamp :
       {"2026-07-13 10:20:30,123", "2026-07-13T10:20:30Z", "2026-07-13T10:20:30+02:00"}) {
    EXPECT_TRUE(pattern_of("^%{TIMESTAMP:t} %{INT:v}$").find(std::string(stamp) + " 3")) << stamp;
  }
}

TEST(Pattern, PassesOverTextInAField) {
  const auto found =
      pattern_of("%{TIMESTAMP:t} (?P<name>[a-z]+) %{INT:v}").find("2026-07-13 10:20:30 loss 3");
  EXPECT_EQ(found->values, (Values{{"v", "3"}}));
}

TEST(Pattern, SaysWhatIsWrongWithAMacro) {
  const Error unknown = refusal_of("a %{FLAOT:x}");
  EXPECT_EQ(unknown.message, "'%{FLAOT:x}' is not a macro");
  EXPECT_EQ(unknown.hint, "did you mean `FLOAT`?");
  EXPECT_EQ(unknown.value, "%{FLAOT:x}");
  EXPECT_EQ(refusal_of("%{WORD:x}").hint,
            "the macros are `FLOAT`, `GLOG_STAMP`, `HEX`, `INT`, `INT_ANY`, `TIMESTAMP`");
  EXPECT_EQ(refusal_of("a %{FLOAT:x").message, "'%{FLOAT:x' is not closed");
  EXPECT_EQ(refusal_of("a %{FLOAT:x-y}").message, "'x-y' cannot be the name of a field");
}

TEST(Pattern, SaysWhatIsWrongWithARegularExpression) {
  EXPECT_EQ(refusal_of("%{FLOAT:x} [a").message,
            "the pattern is no regular expression: missing ]: [a");
  EXPECT_EQ(refusal_of("%{FLOAT:x} [a").value, "[a");
  EXPECT_NE(refusal_of("(a%{FLOAT:x})(?=b)").message.find("invalid perl operator"),
            std::string::npos);
  EXPECT_EQ(refusal_of("%{INT:x} %{INT:x}").message, "the field 'x' stands twice in the pattern");
  EXPECT_EQ(refusal_of("%{INT:x}((a{100}){100}){100}").value, "{100}");
  EXPECT_NE(refusal_of("%{INT:x}\\pL{1000}\\pL{1000}").message.find("too large"),
            std::string::npos);
}

TEST(Pattern, NeedsAFieldForANumber) {
  for (const char* regex : {"loss", "loss %{FLOAT}", "(loss)", "%{TIMESTAMP:time} loss"}) {
    EXPECT_EQ(refusal_of(regex).message, "the pattern has no field for a number") << regex;
  }
}

// Exponential in a matcher that goes back.
TEST(Pattern, TakesTimeLinearInTheText) {
  const Pattern pattern = pattern_of("(?:a+)+b%{INT:x}");
  EXPECT_FALSE(pattern.find(std::string(16'384, 'a')));
}

}  // namespace
}  // namespace runnel::extract
