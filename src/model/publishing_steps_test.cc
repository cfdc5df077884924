#include "model/publishing_steps.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/value.h"
#include "model/check_spec.h"
#include "model/codec.h"

namespace runnel::model {
namespace {

StepSpec step_of(const std::string& name, std::vector<StepIndex> depends_on = {}) {
  StepSpec step;
  step.name = name;
  step.depends_on = std::move(depends_on);
  step.run = Command::shell("true");
  return step;
}

StepSpec writing(StepSpec step) {
  step.volumes = {{"data", "fashion", "0123456789abcdef", "file:///volumes"},
                  {"out", "results", "", "file:///volumes", false, VolumeMode::kWrite}};
  return step;
}

TEST(PublishingSteps, WhoDependsOnAStepThatWritesWaitsForItsVersion) {
  JobSpec spec;
  spec.steps = {step_of("after", {StepIndex(1), StepIndex(2)}), writing(step_of("train")),
                step_of("beside")};
  MUST(add_publishing_steps(spec));
  ASSERT_EQ(spec.steps.size(), 4U);
  const StepSpec& publishing = spec.steps[3];
  EXPECT_EQ(publishing.name, "train.publish");
  EXPECT_EQ(publishing.publishes, StepIndex(1));
  EXPECT_EQ(publishing.depends_on, std::vector{StepIndex(1)});
  ASSERT_EQ(publishing.volumes.size(), 1U);
  EXPECT_EQ(publishing.volumes[0].name, "out");
  EXPECT_FALSE(publishing.writes_volumes());
  EXPECT_EQ(spec.steps[0].depends_on, (std::vector{StepIndex(2), StepIndex(3)}));
  EXPECT_TRUE(spec.steps[1].depends_on.empty());
}

TEST(PublishingSteps, TheyAreStoredAndComeFromNobodyElse) {
  JobSpec spec;
  spec.name = "job";
  spec.workdir = "/";
  spec.steps = {writing(step_of("train"))};
  EXPECT_TRUE(check_spec(spec, Rules::kSubmitted).empty());
  MUST(add_publishing_steps(spec));
  EXPECT_EQ(MUST(decode_job_spec(MUST(json::parse(encode_text(spec))), "spec")), spec);
  EXPECT_EQ(check_spec(spec, Rules::kSubmitted).back().field, "steps[1].publishes");
  spec.steps[1].publishes = StepIndex(2);
  EXPECT_EQ(check_stored(spec).error().field, "steps[1].publishes");
  spec.steps[1].publishes = StepIndex(1);
  EXPECT_EQ(check_stored(spec).error().field, "steps[1].publishes");
}

TEST(WriterBefore, IsTheLastOfThoseThatAStepDependsOn) {
  const VolumeUse results{"r", "results", "latest", "file:///volumes"};
  JobSpec spec;
  spec.steps = {writing(step_of("first")), writing(step_of("second", {StepIndex(0)})),
                step_of("between", {StepIndex(1)}), step_of("reader", {StepIndex(2)}),
                step_of("beside")};
  EXPECT_EQ(MUST(writer_before(spec, StepIndex(3), results)), StepIndex(1));
  EXPECT_EQ(MUST(writer_before(spec, StepIndex(1), results)), StepIndex(0));
  EXPECT_EQ(MUST(writer_before(spec, StepIndex(4), results)), std::nullopt);
  MUST(add_publishing_steps(spec));
  EXPECT_EQ(MUST(writer_before(spec, StepIndex(3), results)), StepIndex(1)) << "as before";
}

TEST(WriterBefore, OnlyWhoReadsTheNewestOfTheSameVolumeHasOne) {
  JobSpec spec;
  spec.steps = {writing(step_of("train")), step_of("reader", {StepIndex(0)})};
  const auto has_one = [&spec](VolumeUse use) {
    return MUST(writer_before(spec, StepIndex(1), use)).has_value();
  };
  EXPECT_TRUE(has_one({"r", "results", "latest", "file:///volumes"}));
  EXPECT_FALSE(has_one({"r", "results", "v1", "file:///volumes"}));
  EXPECT_FALSE(has_one({"r", "results", "latest", "file:///elsewhere"}));
  EXPECT_FALSE(has_one({"r", "fashion", "latest", "file:///volumes"}));
  EXPECT_FALSE(has_one({"r", "results", "", "file:///volumes", false, VolumeMode::kWrite}));
}

TEST(WriterBefore, OfTwoBesideEachOtherNoneIsTheLast) {
  JobSpec spec;
  spec.steps = {writing(step_of("one")), writing(step_of("other")),
                step_of("reader", {StepIndex(0), StepIndex(1)})};
  const Error error =
      writer_before(spec, StepIndex(2), {"r", "results", "latest", "file:///volumes"}).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_NE(error.message.find("'one' and 'other'"), std::string::npos);
}

TEST(PublishingSteps, AJobThatOnlyReadsHasNone) {
  JobSpec spec;
  spec.steps = {writing(step_of("train"))};
  spec.steps[0].volumes.pop_back();
  MUST(add_publishing_steps(spec));
  EXPECT_EQ(spec.steps.size(), 1U);
}

TEST(PublishingSteps, TheyCountAmongTheStepsOfAJob) {
  JobSpec spec;
  for (std::size_t i = 0; i < kStepsMax; ++i) spec.steps.push_back(step_of(std::to_string(i)));
  MUST(add_publishing_steps(spec));
  spec.steps.back() = writing(spec.steps.back());
  EXPECT_EQ(add_publishing_steps(spec).error().field, "steps");
}

}  // namespace
}  // namespace runnel::model
