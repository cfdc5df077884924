#include "control/trial_call.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

using model::TrialCall;
using model::TrialEnd;

model::SearchSpec search_for(std::vector<model::Objective> objectives) {
  model::SearchSpec search;
  search.objectives = std::move(objectives);
  search.max_trials = 10;
  return search;
}

const model::SearchSpec& one() {
  static const model::SearchSpec kSearch = search_for({{"loss", false}});
  return kSearch;
}

const model::SearchSpec& two() {
  static const model::SearchSpec kSearch = search_for({{"loss", false}, {"accuracy", true}});
  return kSearch;
}

Error refused(const Result<TrialCall>& read) {
  EXPECT_FALSE(read.ok());
  return read.ok() ? Error() : read.error();
}

TEST(TrialCallBody, AskingNeedsNoBody) {
  const TrialCall call = MUST(read_ask(""));
  EXPECT_EQ(call.verb, TrialCall::Verb::kAsk);
  EXPECT_EQ(call.lease, model::kLeaseDefault);
  EXPECT_EQ(MUST(read_ask(R"({"lease": "90s", "actor": "ada"})")).lease, Duration::seconds(90));
}

TEST(TrialCallBody, ALeaseHasItsLimits) {
  for (const char* lease : {"999ms", "169h", "0s"}) {
    const Error error = refused(read_ask(std::string(R"({"lease": ")") + lease + "\"}"));
    EXPECT_EQ(error.field, "lease") << lease;
    EXPECT_EQ(error.value, lease);
    EXPECT_NE(error.message.find("from 1s to"), std::string::npos) << error.message;
  }
  EXPECT_EQ(refused(read_ask(R"({"lease": "soon"})")).field, "lease");
  EXPECT_EQ(refused(read_ask(R"({"lease": 60})")).field, "lease") << "a bare number has no unit";
}

TEST(TrialCallBody, OneValueThreeWays) {
  for (const char* body : {R"({"value": 0.25})", R"({"values": [0.25]})",
                           R"({"metrics": {"loss": 0.25, "seconds": 3}})"}) {
    EXPECT_EQ(MUST(read_tell(body, one())).values, std::vector<std::string>{"0.25"}) << body;
  }
}

TEST(TrialCallBody, MetricsAreTakenInTheOrderOfTheObjectives) {
  const TrialCall call = MUST(read_tell(R"({"metrics": {"accuracy": 1, "loss": 1e-3}})", two()));
  EXPECT_EQ(call.values, (std::vector<std::string>{"1e-3", "1"}));
}

TEST(TrialCallBody, AWrongMetricIsNamedWithTheNearest) {
  const Error error = refused(read_tell(R"({"metrics": {"los": 1}})", one()));
  EXPECT_EQ(error.field, "metrics");
  EXPECT_NE(error.message.find("'loss'"), std::string::npos) << error.message;
  EXPECT_NE(error.hint.find("'los'"), std::string::npos) << error.hint;
}

TEST(TrialCallBody, WhatIsNoFiniteNumberIsPassedOn) {
  EXPECT_EQ(MUST(read_tell(R"({"value": "nan"})", one())).values.front(), "nan");
  EXPECT_EQ(MUST(read_tell(R"({"value": "-inf"})", one())).values.front(), "-inf");
  const Error typed = refused(read_tell(R"({"value": "0,5"})", one()));
  EXPECT_EQ(typed.field, "value");
  EXPECT_EQ(typed.value, "\"0,5\"");
  EXPECT_EQ(refused(read_ask(R"({"actor": ")" + std::string(300, 'a') + "\"}")).field, "actor");
  EXPECT_EQ(refused(read_tell(R"({"value": [1]})", one())).field, "value");
  EXPECT_EQ(refused(read_tell(R"({"value": true})", one())).field, "value");
  const std::string long_text(100, '7');
  EXPECT_EQ(refused(read_tell(R"({"value": ")" + long_text + "\"}", one())).field, "value");
}

TEST(TrialCallBody, ValuesAreSaidOnce) {
  EXPECT_EQ(refused(read_tell(R"({"value": 1, "values": [1]})", one())).field, "values");
  EXPECT_EQ(refused(read_tell(R"({"values": 1})", one())).field, "values");
  EXPECT_EQ(refused(read_tell(R"({"metrics": [1]})", one())).field, "metrics");
}

TEST(TrialCallBody, ManyValuesCostLittle) {
  std::string body = "{\"values\": [0";
  for (int i = 0; i < 10'000; ++i) body += ",1";
  EXPECT_LE(MUST(read_tell(body + "]}", one())).values.size(), model::kObjectivesMax + 1);
}

TEST(TrialCallBody, AnEndHasItsWord) {
  EXPECT_EQ(MUST(read_tell("{}", one())).end, TrialEnd::kComplete);
  EXPECT_EQ(MUST(read_tell(R"({"state": "pruned"})", one())).end, TrialEnd::kPruned);
  EXPECT_EQ(MUST(read_tell(R"({"state": "failed", "message": "why"})", one())).message, "why");
  EXPECT_EQ(MUST(read_tell(R"({"state": "fail"})", one())).end, TrialEnd::kFailed) << "Optuna's";
  const Error error = refused(read_tell(R"({"state": "done"})", one()));
  EXPECT_EQ(error.field, "state");
  EXPECT_EQ(error.value, "done");
  EXPECT_EQ(refused(read_tell(R"({"message": ")" + std::string(5'000, 'x') + "\"}", one())).field,
            "message");
}

TEST(TrialCallBody, AReportHasAStep) {
  const TrialCall call = MUST(read_report(R"({"step": 3, "value": 1, "attempt": 2})", one()));
  EXPECT_EQ(call.verb, TrialCall::Verb::kReport);
  EXPECT_EQ(call.at, 3);
  EXPECT_EQ(call.attempt, AttemptNumber(2));
  EXPECT_EQ(refused(read_report(R"({"step": -1, "value": 1})", one())).field, "step");
  EXPECT_EQ(refused(read_report(R"({"step": 9007199254740993, "value": 1})", one())).field, "step");
  EXPECT_EQ(refused(read_report(R"({"attempt": -1, "value": 1})", one())).field, "attempt");
  EXPECT_EQ(refused(read_report(R"({"attempt": 99999999999, "value": 1})", one())).field,
            "attempt");
}

TEST(TrialCallBody, WhatNobodyKnowsIsRefused) {
  EXPECT_NE(refused(read_ask(R"({"leas": "60s"})")).to_string().find("leas"), std::string::npos);
  EXPECT_FALSE(read_tell(R"({"valeu": 1})", one()).ok());
  EXPECT_FALSE(read_report("[1]", one()).ok());
  EXPECT_FALSE(read_report("{", one()).ok());
}

}  // namespace
}  // namespace runnel::control
