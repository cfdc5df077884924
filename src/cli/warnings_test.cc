#include "cli/warnings.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

json::Value job_with(int warned, const std::string& action = "warn") {
  std::string list;
  for (int i = std::max(1, warned - 1); i <= warned; ++i) {
    list += (list.empty() ? "" : ",") + std::string(R"({"action":")") + action +
            R"(","attempt":2,"message":"rank )" + std::to_string(i) +
            R"( lags","reason":"RankSlow","task":3})";
  }
  return MUST(json::parse(R"({"steps":[{"name":"a"},{"name":"train","warned":)" +
                          std::to_string(warned) + R"(,"warnings":[)" + list + "]}]}"));
}

using Lines = std::vector<std::string>;

TEST(Warnings, AreToldOnceEach) {
  Warnings warnings;
  EXPECT_EQ(warnings.news(job_with(1)), Lines{"train/3#2: RankSlow: rank 1 lags"});
  EXPECT_EQ(warnings.news(job_with(1)), Lines{});
  EXPECT_EQ(warnings.news(job_with(2)), Lines{"train/3#2: RankSlow: rank 2 lags"});
  EXPECT_EQ(warnings.news(job_with(9)).size(), 2U) << "the newest, which are there";
}

TEST(Warnings, SayWhatFollows) {
  EXPECT_EQ(Warnings().news(job_with(1, "kill")),
            Lines{"train/3#2: RankSlow: rank 1 lags; it is ended"});
  EXPECT_EQ(Warnings().news(job_with(1, "restart")),
            Lines{"train/3#2: RankSlow: rank 1 lags; it is ended, to be tried again"});
}

TEST(Warnings, OfAJobWithoutAnyNothingIsTold) {
  EXPECT_EQ(Warnings().news(MUST(json::parse(R"({"steps":[{"name":"a"}]})"))), Lines{});
  EXPECT_EQ(Warnings().news(json::Value::object()), Lines{});
}

}  // namespace
}  // namespace runnel::cli
