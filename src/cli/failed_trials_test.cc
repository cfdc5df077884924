#include "cli/failed_trials.h"

#include <gtest/gtest.h>

#include "cli/print.h"

namespace runnel::cli {
namespace {

std::string told(const std::string& step, const std::string& tasks) {
  const json::Value document = MUST(json::parse("{\"tasks\": [" + tasks + "]}"));
  return failed_trials_line(MUST(json::parse(step)), list_at(document, "tasks"));
}

constexpr const char* kStep =
    R"({"name": "search", "status": "SUCCEEDED", "search": {"asked": 6},
        "counts": {"FAILED": 2, "TIMEOUT": 1, "SUCCEEDED": 3}})";

TEST(FailedTrials, AreCountedWithTheirReason) {
  EXPECT_EQ(told(kStep, R"({"status": "FAILED", "reason": "MetricNotFinite"},
                           {"status": "SUCCEEDED", "reason": "Other"})"),
            "3 of 6 trials of search failed: MetricNotFinite");
  EXPECT_EQ(told(kStep, R"({"status": "FAILED", "reason": "NonZeroExit"},
                           {"status": "TIMEOUT", "reason": "TimeLimit"},
                           {"status": "FAILED", "reason": "NonZeroExit"})"),
            "3 of 6 trials of search failed: mostly NonZeroExit (2)");
  EXPECT_EQ(told(kStep, ""), "3 of 6 trials of search failed") << "the tasks were not to be had";
}

TEST(FailedTrials, ASearchThatFailedOrHadNoneIsSilent) {
  EXPECT_EQ(told(R"({"name": "s", "status": "FAILED", "search": {"asked": 6},
                     "counts": {"FAILED": 6}})",
                 ""),
            "")
      << "the job's own end tells";
  EXPECT_EQ(told(R"({"name": "s", "status": "SUCCEEDED", "search": {"asked": 6},
                     "counts": {"SUCCEEDED": 6}})",
                 ""),
            "");
}

}  // namespace
}  // namespace runnel::cli
