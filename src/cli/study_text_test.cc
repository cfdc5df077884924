#include "cli/study_text.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::cli {
namespace {

json::Value answer_of(const char* text) { return MUST(json::parse(text)); }

json::Value two_trials() {
  return answer_of(R"({
    "importance": [{"name": "lr", "share": 0.75}, {"name": "kind", "share": 0.25}],
    "trials": [
      {"attempt": 2, "best": false, "params": {"kind": "a,b", "lr": 0.1}, "status": "FAILED",
       "trial": 0},
      {"attempt": 1, "best": true, "params": {"kind": "say \"c\"", "lr": 0.123456789},
       "status": "SUCCEEDED", "trial": 1, "value_step": 30, "values": {"loss": 0.5}}]})");
}

TEST(StudyText, AMemberOfAPopulationSaysFromWhomItHasWhatItKnows) {
  const std::string table = trials_table(answer_of(R"({"trials": [
      {"params": {"lr": 0.1}, "status": "RUNNING", "trial": 0},
      {"moves": [{"from": 0, "step": 20}, {"from": 2, "step": 40}], "params": {"lr": 0.2},
       "status": "RUNNING", "trial": 1}]})"),
                                         {});
  EXPECT_NE(table.find("WENT ON FROM"), std::string::npos) << table;
  EXPECT_NE(table.find("0@20 2@40"), std::string::npos) << table;
}

TEST(StudyText, TrialsAreRowsAndTheBestIsMarked) {
  EXPECT_EQ(trials_table(two_trials(), {}),
            "TRIAL     STATUS     loss  kind     lr\n"
            "0         FAILED     -     a,b      0.1\n"
            "1 (best)  SUCCEEDED  0.5   say \"c\"  0.123457\n"
            "importance: lr 0.75, kind 0.25\n");
}

TEST(StudyText, ATableEndsAtItsLimit) {
  Arguments arguments;
  arguments.limit = 1;
  const std::string table = trials_table(two_trials(), arguments);
  EXPECT_NE(table.find("\n0 "), std::string::npos);
  EXPECT_EQ(table.find("\n1 "), std::string::npos);
}

TEST(StudyText, CsvQuotesWhatItMustAndKeepsAllDigits) {
  EXPECT_EQ(trials_csv(two_trials(), {}),
            "trial,status,attempts,step,value_loss,param_kind,param_lr\n"
            "0,FAILED,2,,,\"a,b\",0.1\n"
            "1,SUCCEEDED,1,30,0.5,\"say \"\"c\"\"\",0.123456789\n");
}

TEST(StudyText, TabsSeparateWhatHoldsNone) {
  Arguments arguments;
  arguments.output = Output::kTsv;
  const json::Value answer = answer_of(R"({"trials": [
      {"attempt": 1, "params": {"kind": "a\tb, c"}, "status": "FAILED", "trial": 0}]})");
  EXPECT_EQ(trials_csv(answer, arguments),
            "trial\tstatus\tattempts\tstep\tparam_kind\n0\tFAILED\t1\t\ta\\tb, c\n");
}

TEST(StudyText, ColumnsAreTheStudysWhateverCameOfItsTrials) {
  const json::Value answer = answer_of(R"({"objectives": [{"metric": "loss", "mode": "min"}],
      "parameters": ["lr", "kind"], "trials": []})");
  EXPECT_EQ(trials_csv(answer, {}), "trial,status,attempts,step,value_loss,param_kind,param_lr\n");
  EXPECT_TRUE(trials_table(answer, {}).starts_with("TRIAL  STATUS  loss  kind  lr\n"));
}

TEST(StudyText, NothingIsSaidToMatterWhileNothingIsKnown) {
  const std::string trial = R"({"params": {}, "status": "SUCCEEDED", "trial": 0})";
  const auto table = [&](int trials) {
    std::string rows = trial;
    for (int more = 1; more < trials; ++more) rows += "," + trial;
    return trials_table(answer_of(("{\"importance\": [], \"trials\": [" + rows + "]}").c_str()),
                        {});
  };
  EXPECT_EQ(table(1), "TRIAL  STATUS\n0      SUCCEEDED\nimportance: too few trials\n");
  EXPECT_EQ(table(6).find("importance"), std::string::npos) << "none of them matters";
}

TEST(StudyText, ANoteStandsBelowTheTrials) {
  const std::string table =
      trials_table(answer_of(R"({"importance": [], "note": "see here", "trials": []})"), {});
  EXPECT_TRUE(table.ends_with("\nsee here\n")) << table;
}

TEST(StudyText, AStudyIsARow) {
  const json::Value answer = answer_of(R"({"studies": [
    {"asked": 3, "best": {"trial": 2, "values": {"loss": 0.25}}, "id": "j1", "max_trials": 9,
     "name": "a", "status": "RUNNING", "step": "tune"},
    {"asked": 0, "id": "j2", "max_trials": 5, "name": "b", "status": "QUEUED", "step": "b"}]})");
  EXPECT_EQ(studies_table(answer, {}),
            "ID  NAME  STEP  STATUS   TRIALS  BEST  VALUES\n"
            "j1  a     tune  RUNNING  3/9     2     loss=0.25\n"
            "j2  b     b     QUEUED   0/5     -     -\n");
  const json::Value front = answer_of(R"({"studies": [
    {"asked": 9, "best": {"trial": 2, "values": {"a": 1, "b": 2}}, "id": "j3", "max_trials": 9,
     "name": "a", "objectives": [{"metric": "a"}, {"metric": "b"}], "status": "SUCCEEDED",
     "step": "s"}]})");
  EXPECT_EQ(studies_table(front, {}),
            "ID  NAME  STEP  STATUS     TRIALS  BEST     VALUES\n"
            "j3  a     s     SUCCEEDED  9/9     a front  -\n")
      << "no trial of several objectives is the best";
  Arguments names;
  names.output = Output::kName;
  EXPECT_EQ(studies_table(answer, names), "j1\nj2\n");
}

TEST(StudyText, TheBestIsToldWithItsParameters) {
  const json::Value best =
      answer_of(R"({"params": {"lr": "0.1", "n": "3"}, "trial": 7, "values": {"loss": 0.5}})");
  EXPECT_EQ(best_text(best, {}), "trial 7: loss=0.5\n  lr = 0.1\n  n = 3\n");
}

TEST(StudyText, WhatLeadsWhileNoneHasEndedIsNotCalledTheBest) {
  const json::Value answer = answer_of(R"({"best_so_far": {"params": {"lr": "0.1"},
      "status": "PAUSED", "step": 8, "trial": 3, "values": {"accuracy": 0.94}}})");
  EXPECT_EQ(best_text(answer, {}),
            "best so far accuracy=0.94 (trial 3, step 8, paused)\n  lr = 0.1\n");
}

TEST(StudyText, WhoAsksGetsParametersAndWhoTellsAState) {
  const json::Value trial =
      answer_of(R"({"attempt": 2, "params": {"x": 0.5}, "status": "RUNNING", "trial": 3})");
  Arguments arguments;
  arguments.command = Command::kStudyAsk;
  EXPECT_EQ(trial_text(trial, arguments), "trial 3, attempt 2\n  x = 0.5\n");
  arguments.command = Command::kStudyTell;
  EXPECT_EQ(trial_text(trial, arguments), "trial 3, attempt 2: RUNNING\n");
}

TEST(StudyText, WhoGetsNoTrialIsToldWhy) {
  Arguments arguments;
  arguments.command = Command::kStudyAsk;
  const json::Value held =
      answer_of(R"({"finished": false, "running": 4, "trial": null, "waiting": 1})");
  EXPECT_NE(trial_text(held, arguments).find("4 are held and 1 wait"), std::string::npos);
  const json::Value over = answer_of(R"({"finished": true, "running": 0, "trial": null})");
  EXPECT_NE(trial_text(over, arguments).find("has ended"), std::string::npos);
}

}  // namespace
}  // namespace runnel::cli
