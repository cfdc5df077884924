#include "model/health.h"

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

TEST(Health, AProblemsWordIsTheReasonThatItIsToldWith) {
  for (const HealthProblem problem :
       {HealthProblem::kHung, HealthProblem::kNotFinite, HealthProblem::kSlow}) {
    EXPECT_EQ(MUST(parse_health_problem(to_string(problem))), problem);
  }
  EXPECT_EQ(to_string(HealthProblem::kHung), "RankHung");
  EXPECT_EQ(to_string(HealthProblem::kNotFinite), "MetricNotFinite");
  EXPECT_EQ(to_string(HealthProblem::kSlow), "RankSlow");
}

TEST(Health, AnUnknownActionNamesTheNearest) {
  for (const HealthAction action :
       {HealthAction::kWarn, HealthAction::kRestart, HealthAction::kKill}) {
    EXPECT_EQ(MUST(parse_health_action(to_string(action))), action);
  }
  const Result<HealthAction> wrong = parse_health_action("restrat");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().hint, "did you mean restart?");
}

TEST(Health, NobodyWantsToKnowByDefault) {
  const HealthPolicy policy;
  EXPECT_FALSE(policy.any());
  for (const HealthProblem problem :
       {HealthProblem::kHung, HealthProblem::kNotFinite, HealthProblem::kSlow}) {
    EXPECT_FALSE(action_on(policy, problem).has_value());
  }
}

TEST(Health, OnlyTheWantedMetricCanBeUnhealthy) {
  for (const char* value : {"nan", "inf", "-inf"}) {
    EXPECT_TRUE(is_unhealthy("loss", value, "loss"));
    EXPECT_TRUE(is_unhealthy("loss", value, ""));
    EXPECT_FALSE(is_unhealthy("gain", value, "loss"));
  }
  EXPECT_FALSE(is_unhealthy("loss", "1e308", ""));
  EXPECT_TRUE(is_unhealthy(std::string(kMetricNameMax, 'x'), "nan", ""));
  EXPECT_FALSE(is_unhealthy(std::string(kMetricNameMax + 1, 'x'), "nan", ""));
}

TEST(Health, EachProblemHasItsOwnAction) {
  HealthPolicy policy;
  policy.hang = HangPolicy{Duration::minutes(10), HealthAction::kRestart};
  EXPECT_TRUE(policy.any());
  EXPECT_EQ(action_on(policy, HealthProblem::kHung), HealthAction::kRestart);
  EXPECT_FALSE(action_on(policy, HealthProblem::kSlow).has_value());
  policy.nan = NanPolicy{"loss", HealthAction::kKill};
  EXPECT_EQ(action_on(policy, HealthProblem::kNotFinite), HealthAction::kKill);
  policy.straggler.emplace();
  EXPECT_EQ(action_on(policy, HealthProblem::kSlow), HealthAction::kWarn)
      << "the mildest by default";
  EXPECT_EQ(policy.straggler->factor_permille, 3'000);
}

}  // namespace
}  // namespace runnel::model
