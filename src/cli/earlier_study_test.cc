#include "cli/earlier_study.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

json::Value document_of(const std::string& text) { return MUST(json::parse(text)); }

model::StepSpec searching() {
  model::StepSpec step;
  step.name = "tune";
  model::Parameter rate;
  rate.name = "lr";
  rate.kind = model::Parameter::Kind::kUniform;
  rate.low = "0";
  rate.high = "1";
  model::Parameter kind;
  kind.name = "kind";
  kind.kind = model::Parameter::Kind::kChoice;
  kind.values = {"a", "7"};
  step.params = {rate, kind};
  step.search.emplace();
  step.search->objectives = {{"loss", false}};
  step.search->max_trials = step.task_count = 5;
  return step;
}

std::string trial(const std::string& params, const std::string& values,
                  const std::string& status = "SUCCEEDED") {
  return R"({"params": )" + params + R"(, "status": ")" + status + R"(", "values": )" + values +
         "}";
}

EarlierStudy read(const std::string& trials) {
  return MUST(earlier_study(document_of("{\"trials\": [" + trials + "]}"), searching()));
}

TEST(EarlierStudy, TakesWholeTrialsInTheOrderOfTheParameters) {
  const EarlierStudy study =
      read(trial(R"({"kind": 7, "lr": 0.25})", R"({"accuracy": 1, "loss": 0.5})"));
  ASSERT_EQ(study.trials.size(), 1u);
  EXPECT_EQ(study.passed_over, 0);
  EXPECT_EQ(study.trials[0].params,
            (std::vector<std::pair<std::string, std::string>>{{"lr", "0.25"}, {"kind", "7"}}));
  EXPECT_EQ(study.trials[0].values, std::vector<std::string>{"0.5"});
}

TEST(EarlierStudy, PassesOverWhatDoesNotFit) {
  const std::string fine = R"({"kind": "a", "lr": 0.25})";
  for (const std::string& bad :
       {trial(fine, R"({"loss": 0.5})", "PRUNED"), trial(fine, R"({"accuracy": 0.5})"),
        trial(fine, R"({"loss": "nan"})"), trial(R"({"kind": "a"})", R"({"loss": 1})"),
        trial(R"({"kind": "b", "lr": 0.25})", R"({"loss": 1})"),
        trial(R"({"kind": "a", "lr": 2})", R"({"loss": 1})"),
        trial(R"({"kind": "a", "lr": 0.5, "old": 1})", R"({"loss": 1})"),
        trial(R"({"kind": ["a"], "lr": 0.5})", R"({"loss": 1})"), std::string("7"),
        std::string("{}")}) {
    const EarlierStudy study = read(bad);
    EXPECT_TRUE(study.trials.empty()) << bad;
    EXPECT_EQ(study.passed_over, 1) << bad;
  }
}

TEST(EarlierStudy, OtherDocumentsAreRefused) {
  for (const char* text : {"[]", "{}", R"({"trials": 3})", "null"}) {
    const auto refused = earlier_study(document_of(text), searching());
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().field, "--from");
    EXPECT_NE(refused.error().hint.find("study export"), std::string::npos);
  }
}

}  // namespace
}  // namespace runnel::cli
