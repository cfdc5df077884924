#include "cli/lost_work.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

std::string lost_work_of(const std::string& steps, const std::string& specs) {
  return lost_work(
      MUST(json::parse("{\"steps\": [" + steps + "], \"spec\": {\"steps\": [" + specs + "]}}")));
}

TEST(LostWork, CountsWhatRunsWithoutACheckpoint) {
  EXPECT_EQ(
      lost_work_of(R"({"name": "prepare", "counts": {"RUNNING": 1}},
                    {"name": "train", "counts": {"RUNNING": 2, "STARTING": 1, "QUEUED": 5}},
                    {"name": "kept", "counts": {"RUNNING": 4}},
                    {"name": "later", "counts": {"QUEUED": 4}})",
                   R"({"run": "a"}, {"command": ["b"]}, {"run": "c", "checkpoint": {"dir": "ckpt"}},
                    {"run": "d"})"),
      "4 running tasks have no `checkpoint` and begin anew after resume: 1 of prepare, 3 of "
      "train");
}

TEST(LostWork, IsSilentWhereNothingIsLost) {
  EXPECT_EQ(lost_work_of(R"({"name": "study", "counts": {"RUNNING": 2}})", R"({"name": "study"})"),
            "")
      << "an asker runs these";
  EXPECT_EQ(lost_work_of(R"({"name": "a", "counts": {"QUEUED": 2}})", R"({"run": "a"})"), "");
  EXPECT_EQ(lost_work(MUST(json::parse(R"({"steps": []})"))), "");
}

}  // namespace
}  // namespace runnel::cli
