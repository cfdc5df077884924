#include "spec/health.h"

#include <gtest/gtest.h>

#include "spec/job_file.h"

namespace runnel::spec {
namespace {

using model::HealthAction;

model::JobSpec watched_job(const std::string& text) { return MUST(parse_job_file(text, {})); }

const model::HealthPolicy& health_of(const model::JobSpec& job, std::size_t step = 0) {
  return job.steps.at(step).health;
}

TEST(Health, NothingIsLookedForByDefault) { EXPECT_FALSE(health_of(watched_job("run: a")).any()); }

TEST(Health, AnActionAloneIsEnough) {
  const model::JobSpec job =
      watched_job("{run: a, num_nodes: 2, health: {nan: kill, straggler: warn}}");
  EXPECT_EQ(health_of(job).nan, (model::NanPolicy{"", HealthAction::kKill}));
  EXPECT_EQ(health_of(job).straggler, (model::StragglerPolicy{3'000, HealthAction::kWarn}));
  EXPECT_FALSE(health_of(job).hang.has_value());
}

TEST(Health, AMappingSaysMore) {
  const model::JobSpec job = watched_job(
      "{run: a, retry: {max: 1}, procs_per_node: 2, health: {hang: {after: 90s, action: restart},"
      " nan: {metric: loss}, straggler: {factor: 1.5, action: kill}}}");
  EXPECT_EQ(health_of(job).hang,
            (model::HangPolicy{Duration::seconds(90), HealthAction::kRestart}));
  EXPECT_EQ(health_of(job).nan, (model::NanPolicy{"loss", HealthAction::kWarn}));
  EXPECT_EQ(health_of(job).straggler, (model::StragglerPolicy{1'500, HealthAction::kKill}));
}

TEST(Health, OfAFileItIsTheDefaultOfItsSteps) {
  const model::JobSpec job = watched_job(
      "health: {nan: kill, straggler: warn}\n"
      "steps:\n"
      "  alone: {run: a}\n"
      "  gang: {run: a, num_nodes: 2}\n"
      "  own: {run: a, health: {hang: {after: 1s}}}\n"
      "  outside: {params: {x: [1, 2]}, search: {metric: m, mode: min, max_trials: 2}}\n");
  EXPECT_TRUE(health_of(job, 0).nan.has_value());
  EXPECT_FALSE(health_of(job, 0).straggler.has_value()) << "one rank lags behind nobody";
  EXPECT_TRUE(health_of(job, 1).straggler.has_value());
  EXPECT_FALSE(health_of(job, 2).nan.has_value()) << "a step's own replaces it whole";
  EXPECT_FALSE(health_of(job, 3).any()) << "nothing runs there";
}

TEST(Health, APolicyThatAStepCannotHaveCostsItNothing) {
  const model::JobSpec job = watched_job(
      "health: {straggler: {action: restart}}\n"
      "steps:\n"
      "  alone: {run: a}\n"
      "  gang: {run: a, num_nodes: 2, retry: {max: 1}}\n");
  EXPECT_FALSE(health_of(job, 0).any());
  EXPECT_EQ(health_of(job, 1).straggler->action, HealthAction::kRestart);
}

TEST(Health, ARestartIsPaidForByTheStepThatHasIt) {
  const std::string watched = "health: {nan: restart}\n";
  EXPECT_TRUE(parse_job_file(watched + "run: a\nretry: {max: 1}", {}).ok());
  const Result<model::JobSpec> unpaid = parse_job_file(watched + "run: a", {});
  ASSERT_FALSE(unpaid.ok());
  EXPECT_EQ(unpaid.error().field, "health.nan");
}

}  // namespace
}  // namespace runnel::spec
