#include "control/submitted_spec.h"

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

// A search, and a step after it that may name what it found.
model::JobSpec searched() {
  model::JobSpec spec;
  spec.name = "job";
  spec.workdir = "/tmp";
  model::StepSpec search;
  search.name = "search";
  search.run = model::Command::shell("train --lr {{lr}} --seed {{task.index}}");
  search.params = {
      {.name = "lr", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  search.search.emplace();
  model::StepSpec use;
  use.name = "use";
  use.depends_on = {StepIndex(0)};
  use.run = model::Command::shell("train --lr {{best.search.lr}}");
  use.checkpoint = model::CheckpointPolicy{.dir = "ckpt/{{job.id}}"};
  spec.steps = {search, use};
  return spec;
}

std::string field_of(const model::JobSpec& spec) {
  const Result<void> checked = check_submitted(spec);
  if (checked.ok()) return "";
  EXPECT_EQ(checked.error().code, Errc::kInvalid);
  EXPECT_FALSE(checked.error().message.empty());
  return checked.error().field;
}

TEST(SubmittedSpec, TakesWhatAFileMaySay) { EXPECT_EQ(field_of(searched()), ""); }

TEST(SubmittedSpec, KnowsTheParametersOfEachStep) {
  model::JobSpec spec = searched();
  spec.steps[1].run = model::Command::shell("train --lr {{lr}}");
  EXPECT_EQ(field_of(spec), "spec.steps[1].run") << "it is another step's";
  spec.steps[1].run = model::Command::shell("train --lr {{best.search.rate}}");
  EXPECT_EQ(field_of(spec), "spec.steps[1].run") << "there is no such parameter";
  spec.steps[1].run = model::Command::shell("train --lr {{best.nobody.lr}}");
  EXPECT_EQ(field_of(spec), "spec.steps[1].run") << "there is no such step";
}

TEST(SubmittedSpec, KnowsABestOnlyOfASearchThatIsOver) {
  model::JobSpec spec = searched();
  spec.steps[1].depends_on.clear();
  EXPECT_EQ(field_of(spec), "spec.steps[1].run");
  spec = searched();
  spec.steps[0].search.reset();
  EXPECT_EQ(field_of(spec), "spec.steps[1].run");
}

TEST(SubmittedSpec, LooksIntoEveryTextThatIsFilled) {
  model::JobSpec spec = searched();
  spec.steps[0].envs = {{"RATE", "{{rate}}"}};
  EXPECT_EQ(field_of(spec), "spec.steps[0].envs.RATE");
  spec = searched();
  spec.steps[1].checkpoint->dir = "ckpt/{{rate}}";
  EXPECT_EQ(field_of(spec), "spec.steps[1].checkpoint.dir");
  spec.steps[1].checkpoint->dir = "/ckpt";
  EXPECT_EQ(field_of(spec), "spec.steps[1].checkpoint.dir");
  spec = searched();
  spec.steps[1].run = model::Command::words({"train", "{{best.search.lr"});
  EXPECT_EQ(field_of(spec), "spec.steps[1].command");
}

TEST(SubmittedSpec, RefusesNamesThatLeadOut) {
  model::JobSpec spec = searched();
  spec.name = "../job";
  EXPECT_EQ(field_of(spec), "spec.name");
  spec = searched();
  spec.steps[1].name = "a.b";
  EXPECT_EQ(field_of(spec), "spec.steps[1].name");
  spec = searched();
  spec.workdir = "tmp";
  EXPECT_EQ(field_of(spec), "spec.workdir");
}

}  // namespace
}  // namespace runnel::control
