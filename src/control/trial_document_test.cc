#include "control/trial_document.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"
#include "control/testing/home.h"
#include "json/value.h"

namespace runnel::control {
namespace {

using brain::testing::BrainHarness;
using model::TrialCall;

model::StepSpec asked_step(std::int64_t trials) {
  model::StepSpec spec = brain::testing::step("tune", trials);
  spec.run = model::ExternalTrials();
  spec.samples.reset();
  model::Parameter rate;
  rate.name = "rate";
  rate.kind = model::Parameter::Kind::kUniform;
  rate.low = "0";
  rate.high = "1";
  model::Parameter kind;
  kind.name = "kind";
  kind.kind = model::Parameter::Kind::kChoice;
  kind.values = {"a", "7"};
  spec.params = {rate, kind};
  model::SearchSpec& search = spec.search.emplace();
  search.method = model::SearchSpec::Method::kRandom;
  search.objectives = {{"loss", false}, {"accuracy", true}};
  search.max_trials = trials;
  return spec;
}

class TrialDocumentTest : public ::testing::Test {
 protected:
  TrialDocumentTest() : job_(harness_.submit({asked_step(2)})) {}

  std::optional<model::AttemptRef> ask() {
    TrialCall call;
    call.job = job_;
    call.lease = Duration::seconds(60);
    return harness_.decide(call).attempt;
  }
  void tell(const model::AttemptRef& attempt, std::vector<std::string> values) {
    TrialCall call;
    call.verb = TrialCall::Verb::kTell;
    call.job = job_;
    call.trial = attempt.task.index;
    call.attempt = attempt.attempt;
    call.values = std::move(values);
    ASSERT_FALSE(harness_.decide(call).refusal);
  }
  json::Value document(const model::AttemptRef& attempt) const {
    const brain::Job& job = harness_.brain.state().jobs.at(job_);
    return MUST(json::parse(trial_document(job, StepIndex(0), attempt.task.index)));
  }
  json::Value answer(const std::optional<model::AttemptRef>& attempt) const {
    const brain::Job& job = harness_.brain.state().jobs.at(job_);
    return MUST(json::parse(trial_answer(job, StepIndex(0), attempt)));
  }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(TrialDocumentTest, NumbersAreNumbersAndWordsAreWords) {
  const auto attempt = ask();
  const json::Value trial = answer(attempt);
  EXPECT_EQ(trial.find("params")->find("rate")->kind(), json::Value::Kind::kDecimal);
  EXPECT_EQ(trial.find("values"), nullptr) << "it has none yet";
  tell(*attempt, {"0.5", "1"});
  const json::Value told = answer(attempt);
  EXPECT_EQ(told.find("values")->dump(), R"({"accuracy":1,"loss":0.5})");
  EXPECT_EQ(told.find("reports"), nullptr) << "an answer does not grow with the trial";
  const json::Value full = document(*attempt);
  EXPECT_EQ(full.find("reports")->dump(), R"([{"step":0,"values":{"accuracy":1,"loss":0.5}}])");
}

TEST_F(TrialDocumentTest, AnEarlierAttemptIsToldToStop) {
  const auto first = ask();
  EXPECT_EQ(answer(first).find("stop")->dump(), "false");
  harness_.pass(Duration::seconds(60));
  const auto second = ask();
  ASSERT_EQ(second->task, first->task);
  EXPECT_EQ(answer(first).find("stop")->dump(), "true");
  EXPECT_EQ(answer(second).find("stop")->dump(), "false");
  EXPECT_EQ(answer(second).find("attempt")->dump(), "2");
}

TEST_F(TrialDocumentTest, TheBestIsMarked) {
  const auto first = ask();
  const auto second = ask();
  tell(*first, {"2", "0"});
  tell(*second, {"1", "0"});
  EXPECT_EQ(document(*first).find("best")->dump(), "false");
  EXPECT_EQ(document(*second).find("best")->dump(), "true");
}

TEST_F(TrialDocumentTest, EachOfAFrontIsMarked) {
  const auto first = ask();
  const auto second = ask();
  tell(*first, {"2", "1"});
  tell(*second, {"1", "0"});
  EXPECT_EQ(document(*first).find("best")->dump(), "true") << "the most accurate";
  EXPECT_EQ(document(*second).find("best")->dump(), "true") << "the least loss";
  EXPECT_EQ(answer(second).find("best"), nullptr) << "a call looks at no other trial";
  std::string text;
  json::Writer out(text);
  write_trials(out, harness_.brain.state().jobs.at(job_), StepIndex(0), 0, 2);
  const json::Value trials = MUST(json::parse(text));
  ASSERT_EQ(trials.as_list().size(), 2U);
  for (const json::Value& trial : trials.as_list()) {
    EXPECT_EQ(trial.find("best")->dump(), "true");
  }
}

TEST_F(TrialDocumentTest, NobodyGetsOneOfAStudyThatHasEnded) {
  EXPECT_EQ(answer(std::nullopt).dump(),
            R"({"finished":false,"running":0,"trial":null,"waiting":2})");
  harness_.request(job_, model::JobRequest::Verb::kCancel);
  EXPECT_EQ(answer(std::nullopt).find("finished")->dump(), "true");
}

// What was answered is durable: a control that is killed knows it afterwards.
TEST(TrialCalls, SurviveTheDeathOfTheControl) {
  testing::Home home;
  home.open();
  TrialCall call;
  call.job = home.submit({asked_step(1)});
  call.lease = Duration::seconds(60);
  const Answer asked = MUST(home.wait(home.control().call_trial(call)));
  ASSERT_TRUE(asked.outcome.attempt);
  home.crash();
  home.open();
  call.verb = TrialCall::Verb::kTell;
  call.trial = asked.outcome.attempt->task.index;
  call.attempt = asked.outcome.attempt->attempt;
  call.values = {"1", "2"};
  EXPECT_FALSE(MUST(home.wait(home.control().call_trial(call))).outcome.refusal);
  home.crash();
  home.open();
  const Answer again = MUST(home.wait(home.control().call_trial(call)));
  EXPECT_FALSE(again.outcome.refusal);
  EXPECT_TRUE(again.outcome.repeated);
  EXPECT_EQ(home.status(call.job), model::Status::kSucceeded);
  home.stop();
}

}  // namespace
}  // namespace runnel::control
