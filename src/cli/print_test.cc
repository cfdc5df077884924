#include "cli/print.h"

#include <gtest/gtest.h>

#include "cli/best_text.h"
#include "cli/progress.h"

namespace runnel::cli {
namespace {

json::Value parsed(const std::string& text) { return MUST(json::parse(text)); }

TEST(Print, TextsOfDocumentsArePrintable) {
  EXPECT_EQ(text_of(parsed(R"({"a":"x\ny\u001b[2J"})"), "a"), "x\\ny\\x1b[2J");
}

TEST(Print, DocumentsAsYaml) {
  const json::Value value =
      parsed(R"({"a":1,"b":"plain","c":"12","d":["x",{"t":true}],"e":{},"f":"- no","on":"True"})");
  EXPECT_EQ(document(value, Output::kYaml),
            "a: 1\nb: plain\nc: \"12\"\nd:\n  - x\n  -\n    t: true\ne: {}\nf: \"- no\"\n\"on\": "
            "\"True\"\n");
}

TEST(Print, UsageErrorsExitWithTwo) {
  EXPECT_EQ(exit_code_of(Error(Errc::kInvalid, "x")), 2);
  EXPECT_EQ(exit_code_of(Error(Errc::kUnsupported, "x")), 2);
  EXPECT_EQ(exit_code_of(Error(Errc::kNotFound, "x")), 1);
}

TEST(Progress, TellsCountsRateAndEta) {
  const json::Value job = parsed(
      R"({"progress":{"share":0.5,"steps":[{"eta_seconds":10,"name":"train","share":0.508}]}})");
  const json::Value step = parsed(
      R"({"name":"train","tasks":100,"status":"RUNNING","counts":{"SUCCEEDED":50,"RUNNING":2,"FAILED":1}})");
  EXPECT_EQ(progress_line(job, step, Duration::seconds(10)),
            "train            50/100  2 running  1 failed  51 %  ETA 10.0 s  5.0/s");
  EXPECT_EQ(progress_line(parsed("{}"), step, Duration::seconds(10)),
            "train            50/100  2 running  1 failed  5.0/s");
  const json::Value now = parsed(R"({"progress":{"steps":[{"eta_seconds":0,"name":"train"}]}})");
  EXPECT_EQ(left_text(now, "train"), "") << "nothing is left to wait for";
  const json::Value done =
      parsed(R"({"name":"train","tasks":1,"status":"SUCCEEDED","counts":{"SUCCEEDED":1}})");
  EXPECT_EQ(progress_line(job, done, Duration::seconds(1)), "train            1/1  SUCCEEDED");
}

TEST(Progress, TellsTheBestSoFarOrTheOnlyReport) {
  const json::Value job = parsed(R"({"progress":{"steps":[
      {"live":[{"metrics":{"loss":0.25},"step":7,"task":3}],"name":"train","share":0.1}]}})");
  const json::Value search = parsed(R"({"name":"train","tasks":20,"status":"RUNNING",
      "counts":{"SUCCEEDED":1,"PRUNED":4,"RUNNING":1},
      "search":{"best":{"trial":13,"values":{"accuracy":0.956}},"objectives":[{"metric":"accuracy"}]}})");
  EXPECT_EQ(progress_line(job, search, Duration::seconds(100)),
            "train            5/20  1 running  10 %  best accuracy=0.956 (trial 13)");
  const json::Value alone =
      parsed(R"({"name":"train","tasks":1,"status":"RUNNING","counts":{"RUNNING":1}})");
  EXPECT_EQ(progress_line(job, alone, Duration::seconds(100)),
            "train            0/1  1 running  10 %  step 7 loss=0.25");
  const json::Value front = parsed(R"({"name":"other","tasks":2,"status":"RUNNING","search":{
      "best":{"trial":1,"values":{"a":1,"b":2}},"objectives":[{"metric":"a"},{"metric":"b"}]}})");
  EXPECT_EQ(progress_line(job, front, Duration::seconds(1)), "other            0/2");
}

TEST(Progress, ANarrowTerminalTakesTheBlanksBeforeTheBest) {
  const std::string line = "tune             12/200  best accuracy=0.956 (trial 13)";
  EXPECT_EQ(fitted_progress_line(line, 60), line);
  EXPECT_EQ(fitted_progress_line(line, 45), "tune   12/200  best accuracy=0.956 (trial 13)");
  EXPECT_EQ(fitted_progress_line(line, 30).rfind("tune 12/200  best", 0), 0U);
}

TEST(Progress, TellsTheBestSoFarWhileNoTrialHasEnded) {
  const json::Value search = parsed(R"({"name":"tune","tasks":20,"status":"RUNNING",
      "counts":{"PAUSED":4,"RUNNING":1},"search":{
      "best_so_far":{"params":{"lr":"0.1"},"status":"PAUSED","step":8,"trial":3,
                     "values":{"accuracy":0.94}},"objectives":[{"metric":"accuracy"}]}})");
  EXPECT_EQ(
      progress_line(parsed("{}"), search, Duration::seconds(1)),
      "tune             0/20  1 running  best so far accuracy=0.94 (trial 3, step 8, paused)");
  EXPECT_EQ(best_line(search),
            "best of tune so far: accuracy=0.94 (trial 3, step 8, paused) with lr=0.1");
}

TEST(Progress, TellsWhatLiveTasksReport) {
  const json::Value job = parsed(R"({"progress":{"share":0,"steps":[
      {"live":[{"metrics":{"loss":0.25,"odd":"nan"},"step":7,"task":3}],"name":"train","share":0}]}})");
  EXPECT_EQ(live_lines(job, "train"),
            std::vector<std::string>{"train/3  step 7  loss=0.25 odd=nan"});
  EXPECT_TRUE(live_lines(job, "other").empty());
  EXPECT_EQ(left_text(job, "train"), "");
}

class ProgressOnTerminal : public ::testing::Test {
 protected:
  ProgressOnTerminal() {
    progress_.redrawn(parsed(R"({"steps":[{"name":"train","tasks":1,"status":"RUNNING"}]})"),
                      Duration::seconds(1));
  }

  Progress progress_{true};
  const std::string block_ = "train            0/1\n";
  const std::string wipe_ = "\x1b[1A\x1b[2K";
};

TEST_F(ProgressOnTerminal, IsDrawnAgainBelowAllOutput) {
  EXPECT_EQ(progress_.above("one\n"), wipe_ + "one\n" + block_);
  EXPECT_EQ(progress_.above("two\nthree\n"), wipe_ + "two\nthree\n" + block_);
  EXPECT_EQ(progress_.aside("runnel: pausing\n"), wipe_ + "runnel: pausing\n" + block_);
}

TEST_F(ProgressOnTerminal, IsBelowALineThatWillBeWrittenOver) {
  EXPECT_EQ(progress_.above("10%\r"), wipe_ + "10%\r\n" + block_);
  EXPECT_EQ(progress_.above("20%\r"), wipe_ + "\x1b[1A20%\r\n" + block_) << "on the line of 10%";
  EXPECT_EQ(progress_.aside("ours\n"), wipe_ + "\x1b[1A\nours\n" + block_) << "20% stays";
  EXPECT_EQ(progress_.above("30%\n"), wipe_ + "30%\n" + block_);
}

TEST_F(ProgressOnTerminal, DoesNotTearALine) {
  EXPECT_EQ(progress_.above("one, "), wipe_ + "one, ");
  EXPECT_EQ(progress_.above("two\n"), "two\n" + block_);
}

}  // namespace
}  // namespace runnel::cli
