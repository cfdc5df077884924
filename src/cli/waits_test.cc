#include "cli/waits.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

json::Value explanation(const std::string& waits) {
  return MUST(json::parse("{\"waits\":[" + waits + "]}"));
}

TEST(Waits, EachReasonOfAStepIsToldOnce) {
  Waits waits;
  const json::Value first = explanation(
      R"({"step":"a","reason":"BeginTime","message":"again in 3 s","remedy":"a shorter backoff"},)"
      R"({"step":"b","reason":"Dependency","message":"starts when a has succeeded"})");
  EXPECT_TRUE(waits.news(first).empty()) << "it may be over in a moment";
  EXPECT_EQ(waits.news(first),
            std::vector<std::string>{"a: BeginTime: again in 3 s; a shorter backoff"});
  EXPECT_TRUE(waits.news(first).empty());
  const json::Value second =
      explanation(R"({"step":"a","reason":"BeginTime","message":"again in 2 s"},)"
                  R"({"step":"a","reason":"Resources","message":"4 cores are missing"})");
  EXPECT_TRUE(waits.news(second).empty());
  EXPECT_EQ(waits.news(second), std::vector<std::string>{"a: Resources: 4 cores are missing"});
  EXPECT_TRUE(waits.news(json::Value::object()).empty());
}

}  // namespace
}  // namespace runnel::cli
