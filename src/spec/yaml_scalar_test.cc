#include "spec/yaml_scalar.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

TEST(YamlText, IsPlainWhereEveryReaderTakesItForText) {
  for (const char* text : {"plain", "two words", "a-b_c.d/e", "true story", "onward", "x1"}) {
    EXPECT_EQ(yaml_scalar(text), text);
  }
}

TEST(YamlText, IsQuotedWhereAReaderMayTakeItForSomethingElse) {
  for (const char* text :
       {"",     " a",   "a ",   "True", "Null", "NO",   "Off",   "y",     "~",
        "0x10", "0o17", ".inf", ".NaN", "-.5",  "+1",   "1_000", "12:30", "? a",
        "- a",  "---",  "<<",   "=",    "a: b", "a #b", "a\tb",  "%x",    "2026-11-22"}) {
    const std::string quoted = yaml_scalar(text);
    EXPECT_EQ(quoted.front(), '"') << text;
    EXPECT_EQ(quoted.back(), '"') << text;
  }
  EXPECT_EQ(yaml_scalar("a\"b\n"), R"("a\"b\n")");
  EXPECT_EQ(yaml_scalar("\x7f").front(), '"');
}

}  // namespace
}  // namespace runnel::spec
