#include "spec/hyper_recipe.h"

#include <gtest/gtest.h>

#include "spec/job_file.h"

namespace runnel::spec {
namespace {

JobFileReport read_recipe_with(const std::string& experiment) {
  ParseContext context;
  context.file = "r.yml";
  return parse_job_file_all("version: 1\nexperiments: {x: {command: [echo]" + experiment + "}}",
                            context);
}

model::StepSpec step_for(const std::string& experiment) {
  const JobFileReport report = read_recipe_with(experiment);
  EXPECT_TRUE(report.errors.empty()) << report.errors.front().to_string();
  return report.spec ? report.spec->steps.front() : model::StepSpec();
}

std::string recipe_error(const std::string& experiment) {
  const JobFileReport report = read_recipe_with(experiment);
  return report.errors.empty() ? "" : report.errors.front().to_string();
}

TEST(HyperRecipe, ParametersOfEveryForm) {
  const model::StepSpec step = step_for(
      ", samples: 3, parameters: {a: 1, b: [x, y], c: '0.01-0.09', d: {range: 0-4, sampling: "
      "discrete}, e: {range: 1e-3-0.1, sampling: uniform}, f: -1--0.5, g: a-b}");
  using Kind = model::Parameter::Kind;
  ASSERT_EQ(step.params.size(), 7u);
  EXPECT_EQ(step.params[0].values, std::vector<std::string>{"1"});
  EXPECT_EQ(step.params[1].values.size(), 2u);
  EXPECT_EQ(step.params[2].kind, Kind::kUniform);
  EXPECT_EQ(step.params[2].low, "0.01");
  EXPECT_EQ(step.params[3].kind, Kind::kRange);
  EXPECT_EQ(step.params[3].high, "4");
  EXPECT_EQ(step.params[4].low, "1e-3");
  EXPECT_EQ(step.params[5].low, "-1");
  EXPECT_EQ(step.params[5].high, "-0.5");
  EXPECT_EQ(step.params[6].values, std::vector<std::string>{"a-b"}) << "a text with a dash";
}

TEST(HyperRecipe, DrawsOneTaskAtATimeUnlessItSaysMore) {
  EXPECT_EQ(step_for(", parameters: {a: [1, 2, 3]}").task_count, 1);
  EXPECT_EQ(step_for(", parameters: {a: [1, 2, 3]}").parallel, 1);
  EXPECT_EQ(step_for(", parameters: {a: [1, 2, 3]}, samples: 9, workers: 4").task_count, 9);
  EXPECT_EQ(step_for(", parameters: {a: [1, 2, 3]}, samples: 9, workers: 4").parallel, 4);
  EXPECT_FALSE(step_for("").parallel.has_value());
}

TEST(HyperRecipe, Hardware) {
  const model::StepSpec gpu = step_for(", hardware: {gpu: k80, gpu_count: 16, spot: true}");
  EXPECT_EQ(gpu.resources.accelerators.at("K80"), 16);
  EXPECT_TRUE(gpu.spot);
  EXPECT_EQ(step_for(", hardware: {gpu: V100}").resources.accelerators.at("V100"), 1);
  EXPECT_EQ(step_for(", hardware: {cpu: 48, local: true}").resources.milli_cpus, 48'000);
  EXPECT_EQ(recipe_error(", hardware: {gpu_count: 4}").substr(0, 100),
            "r.yml:2:58: experiments.x.hardware.gpu_count: `gpu_count` needs `gpu`; add gpu: V100");
  EXPECT_NE(recipe_error(", hardware: {gpu: K80, gpu_count: 4}").find("one of 1, 8, 16"),
            std::string::npos);
}

TEST(HyperRecipe, Recovery) {
  EXPECT_EQ(step_for(", recovery: true").retry.max, 3);
  EXPECT_EQ(step_for(", recovery: false").retry.max, 0);
}

TEST(HyperRecipe, NotesWhatItCannotCarry) {
  const JobFileReport report = read_recipe_with(
      ", image: a, image_access: private, volumes: {}, region: b, zone: c, credentials: {}");
  ASSERT_TRUE(report.spec.has_value());
  std::vector<std::string> fields;
  for (const Error& note : report.notes) {
    EXPECT_TRUE(note.where.known());
    EXPECT_FALSE(note.hint.empty());
    fields.push_back(note.field);
  }
  EXPECT_EQ(fields, (std::vector<std::string>{"experiments.x.image", "experiments.x.volumes",
                                              "experiments.x.region", "experiments.x.zone",
                                              "experiments.x.credentials"}));
}

TEST(HyperRecipe, FieldsHaveTheRecipesNames) {
  EXPECT_EQ(recipe_field("steps.a.run.0"), "experiments.a.command.0");
  EXPECT_EQ(recipe_field("steps.a.params.lr"), "experiments.a.parameters.lr");
  EXPECT_EQ(recipe_field("steps.a.resources.cpus"), "experiments.a.hardware.cpu");
  EXPECT_EQ(recipe_field("steps.a.resources.spot"), "experiments.a.hardware.spot");
  EXPECT_EQ(recipe_field("steps.a.retry.max"), "experiments.a.recovery.max");
  EXPECT_EQ(recipe_field("steps.a.samples"), "experiments.a.samples");
  EXPECT_EQ(recipe_field("steps.a"), "experiments.a");
  EXPECT_EQ(recipe_field("--cpus"), "--cpus");
}

TEST(HyperRecipe, IsNotOneWithoutExperiments) {
  EXPECT_NE(recipe_error(", hardware: nothing"), "");
  ParseContext context;
  const auto text_of = [&](std::string_view text) {
    return parse_job_file_all(text, context).errors.front().message;
  };
  EXPECT_EQ(text_of("experiments: {}"), "`experiments` is a mapping of names to experiments");
  EXPECT_EQ(text_of("experiments: [a]"), "`experiments` is a mapping of names to experiments");
}

}  // namespace
}  // namespace runnel::spec
