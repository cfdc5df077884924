#include "cli/better_pruned.h"

#include <gtest/gtest.h>

#include "cli/print.h"

namespace runnel::cli {
namespace {

json::Value search_for(const std::string& mode) {
  return MUST(json::parse(R"({"objectives": [{"metric": "acc", "mode": ")" + mode + R"("}]})"));
}

json::Value trials() {
  return MUST(json::parse(R"({"trials": [
    {"trial": 0, "status": "SUCCEEDED", "best": true, "values": {"acc": 0.5}},
    {"trial": 1, "status": "PRUNED", "best": false, "values": {"acc": 0.6}},
    {"trial": 2, "status": "PRUNED", "best": false, "values": {"acc": 0.9}},
    {"trial": 3, "status": "PRUNED", "best": false, "values": {"acc": "nan"}},
    {"trial": 4, "status": "FAILED", "best": false, "values": {"acc": 0.99}},
    {"trial": 5, "status": "PRUNED", "best": false}]})"));
}

TEST(BetterPruned, IsTheBestOfThoseThatBeatTheBestWholeTrial) {
  const json::Value all = trials();
  const json::Value* found = better_pruned(search_for("max"), list_at(all, "trials"));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(number_of(*found, "trial"), 2);
  EXPECT_EQ(better_pruned(search_for("min"), list_at(all, "trials")), nullptr);
}

TEST(BetterPruned, NobodyIsBetterWhereNoTrialEndedWhole) {
  const json::Value all = MUST(json::parse(R"({"trials": [
    {"trial": 0, "status": "PRUNED", "best": true, "values": {"acc": 0.5}},
    {"trial": 1, "status": "PRUNED", "best": false, "values": {"acc": 0.6}}]})"));
  EXPECT_EQ(better_pruned(search_for("max"), list_at(all, "trials")), nullptr);
}

TEST(BetterPruned, TheRemedyIsSaidWhereItIsOne) {
  const json::Value trial = MUST(json::parse(
      R"({"trial": 2, "values": {"acc": 0.9}, "reports": [{"step": 1}, {"step": 8}]})"));
  const auto line = [&](const char* spec) {
    return better_pruned_line(trial, MUST(json::parse(spec)));
  };
  const std::string told =
      "trial 2 was PRUNED with acc=0.9 at step 8, better than the best whole trial";
  EXPECT_EQ(line(R"({"search": {"pruner": {"eta": 2}}})"),
            told +
                "; set `max_step` in `pruner` so that trials which have reported their last "
                "step count as whole");
  EXPECT_EQ(line(R"({"search": {"pruner": {"max_step": 8}}})"), told);
  EXPECT_EQ(line(R"({"search": {}})"), told) << "pruned by its asker";
}

}  // namespace
}  // namespace runnel::cli
