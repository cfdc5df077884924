#include "extract/macro.h"

#include <gtest/gtest.h>

namespace runnel::extract {
namespace {

using Kind = Expanded::Kind;

TEST(ExpandMacros, LeavesOtherTextAsItIs) {
  for (const char* text :
       {"", "loss = [0-9]+", "100%", "%INT{2}", "a%\\{b", "{{x}}", "(?P<a>.)%"}) {
    const Expanded expanded = MUST(expand_macros(text));
    EXPECT_EQ(expanded.regex, text);
    EXPECT_TRUE(expanded.fields.empty());
  }
}

TEST(ExpandMacros, CapturesOnlyWhatHasAName) {
  EXPECT_EQ(MUST(expand_macros("#%{INT}:")).regex, "#(?:[+-]?[0-9]+):");
  EXPECT_EQ(MUST(expand_macros("#%{INT:n}:")).regex, "#(?P<n>[+-]?[0-9]+):");
}

TEST(ExpandMacros, SaysWhatItsFieldsAre) {
  const Expanded expanded = MUST(
      expand_macros("%{GLOG_STAMP:g} %{TIMESTAMP:t} %{FLOAT:f} %{INT:i} %{INT_ANY:a} %{HEX:h}"));
  const std::map<std::string, Kind> expected = {{"a", Kind::kNumber}, {"f", Kind::kNumber},
                                                {"g", Kind::kText},   {"h", Kind::kHexNumber},
                                                {"i", Kind::kNumber}, {"t", Kind::kText}};
  EXPECT_EQ(expanded.fields, expected);
}

TEST(ExpandMacros, NamesTheMacroAtFault) {
  const std::pair<const char*, const char*> cases[] = {
      {"a %{} b", "%{}"},       {"%{int:a}", "%{int:a}"},     {"%{INT:}", "%{INT:}"},
      {"%{INT:1}", "%{INT:1}"}, {"%{INT:a:b}", "%{INT:a:b}"}, {"%{INT} %{INT", "%{INT"}};
  for (const auto& [pattern, value] : cases) {
    const Result<Expanded> expanded = expand_macros(pattern);
    ASSERT_FALSE(expanded.ok()) << pattern;
    EXPECT_EQ(expanded.error().value, value);
    EXPECT_FALSE(expanded.error().hint.empty());
  }
}

}  // namespace
}  // namespace runnel::extract
