#include "control/find_step.h"

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

model::JobSpec job_with(const std::vector<std::string>& names) {
  model::JobSpec spec;
  for (const std::string& name : names) spec.steps.emplace_back().name = name;
  return spec;
}

TEST(FindStep, ANameGoesBeforeAPosition) {
  const model::JobSpec spec = job_with({"prepare", "0", "train"});
  EXPECT_EQ(MUST(find_step(spec, "0")), StepIndex(1));
  EXPECT_EQ(MUST(find_step(spec, "train")), StepIndex(2));
  EXPECT_EQ(MUST(find_step(spec, "2")), StepIndex(2));
}

TEST(FindStep, AnUnknownOneGetsTheNearestAndTheRest) {
  EXPECT_EQ(find_step(job_with({"prepare", "train"}), "trian").error().to_string(),
            "step: the job has no step 'trian'; did you mean 'train'? it has prepare, train");
  EXPECT_EQ(find_step(job_with({"prepare", "train"}), "9").error().hint, "it has prepare, train");
  EXPECT_TRUE(find_step(job_with(std::vector<std::string>(12, "s")), "x")
                  .error()
                  .hint.ends_with("s, s and 2 more"));
}

}  // namespace
}  // namespace runnel::control
