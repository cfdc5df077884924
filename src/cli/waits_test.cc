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
  EXPECT_TRUE(waits.news(first, Waits::Job::kWaits).empty()) << "it may be over in a moment";
  EXPECT_EQ(waits.news(first, Waits::Job::kWaits),
            std::vector<std::string>{"a: BeginTime: again in 3 s; a shorter backoff"});
  EXPECT_TRUE(waits.news(first, Waits::Job::kWaits).empty());
  const json::Value second =
      explanation(R"({"step":"a","reason":"BeginTime","message":"again in 2 s"},)"
                  R"({"step":"a","reason":"Resources","message":"4 cores are missing"})");
  EXPECT_TRUE(waits.news(second, Waits::Job::kWaits).empty());
  EXPECT_EQ(waits.news(second, Waits::Job::kWaits),
            std::vector<std::string>{"a: Resources: 4 cores are missing"});
  EXPECT_TRUE(waits.news(json::Value::object(), Waits::Job::kWaits).empty());
}

TEST(Waits, OfAJobThatRunsOnlyWhatAilsTheHomeIsTold) {
  Waits waits;
  const json::Value both = explanation(
      R"({"step":"a","reason":"Resources","message":"4 cores are missing"},)"
      R"({"step":"disk","reason":"DiskFull","message":"it is full","remedy":"remove some files"})");
  EXPECT_TRUE(waits.news(both, Waits::Job::kRuns).empty());
  EXPECT_EQ(waits.news(both, Waits::Job::kRuns),
            std::vector<std::string>{"disk: DiskFull: it is full; remove some files"});
}

}  // namespace
}  // namespace runnel::cli
