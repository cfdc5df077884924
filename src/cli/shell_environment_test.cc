#include "cli/shell_environment.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

TEST(ShellEnvironment, TakesWhereProgramsAreAndNoSecrets) {
  EXPECT_EQ(shell_environment({"PATH=/venv/bin:/bin", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C",
                               "VIRTUAL_ENV=/venv", "GITHUB_TOKEN=y", "RUNNEL_HOME=/h", "RANK=3"}),
            (Variables{{"LC_ALL", "C"}, {"PATH", "/venv/bin:/bin"}, {"VIRTUAL_ENV", "/venv"}}));
}

TEST(ShellEnvironment, LeavesOutWhatCannotBeKept) {
  EXPECT_EQ(shell_environment({"PATH=\xff", "HOME", "=x", "TZ=a", "TZ=b", "USER="}),
            (Variables{{"TZ", "a"}, {"USER", ""}}));
}

model::JobSpec two_steps() {
  model::JobSpec spec;
  spec.steps.resize(2);
  spec.steps[0].envs = {{"HF_TOKEN", "given"}, {"LANG", "of the file"}};
  spec.steps[1].envs = {{"HF_TOKEN", "given"}};
  spec.steps[1].secrets = {{"KEY", "env:WANDB_API_KEY"}};
  return spec;
}

TEST(ShellEnvironment, NamesWhatIsLookedForAndLeftBehind) {
  EXPECT_EQ(left_behind({"WANDB_API_KEY=x", "HF_TOKEN=y", "OMP_NUM_THREADS=1", "MINE=1",
                         "PATH=/bin", "AWS_PROFILE="},
                        two_steps()),
            (std::vector<std::string>{"OMP_NUM_THREADS", "WANDB_API_KEY"}))
      << "one step has it as a secret, the other has it not";
  EXPECT_TRUE(left_behind({"MINE=1"}, two_steps()).empty());
}

TEST(ShellEnvironment, SaysNothingOfDevicesWhereTheyAreAskedFor) {
  model::JobSpec spec = two_steps();
  const std::vector<std::string> shell = {"CUDA_VISIBLE_DEVICES=1"};
  EXPECT_EQ(left_behind(shell, spec), std::vector<std::string>{"CUDA_VISIBLE_DEVICES"});
  for (model::StepSpec& step : spec.steps) step.resources.accelerators["H100"] = 1;
  EXPECT_TRUE(left_behind(shell, spec).empty()) << "they are shown what they were granted";
}

TEST(ShellEnvironment, SaysNothingOfWhatTheMountsOfVolumesGet) {
  model::JobSpec spec = two_steps();
  const std::vector<std::string> shell = {"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"};
  spec.steps[0].volumes = {{"data", "data", "v", "file:///volumes"}};
  EXPECT_EQ(left_behind(shell, spec).size(), 2U) << "no bucket is read";
  spec.steps[0].volumes[0].store = "s3://bucket/prefix";
  EXPECT_TRUE(left_behind(shell, spec).empty());
}

TEST(ShellEnvironment, SaysNothingOfWhatRunnelSetInATask) {
  std::vector<std::string> shell = {"OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1", "HF_HUB=x",
                                    "KAGGLE_KEY=k"};
  EXPECT_EQ(left_behind(shell, two_steps()).size(), 3U);
  shell.emplace_back("RUNNEL_JOB_ID=j1");
  EXPECT_EQ(left_behind(shell, two_steps()), std::vector<std::string>{"KAGGLE_KEY"});
}

TEST(ShellEnvironment, HandsOnAllThatTheFileDoesNotSay) {
  model::JobSpec spec = two_steps();
  hand_on_all(
      {"LANG=de", "B={{x}}", "WANDB_API_KEY=x", "RUNNEL_HOME=/h", "PWD=/", "f()=x", "C=\xff"},
      spec);
  EXPECT_EQ(spec.steps[0].envs, (Variables{{"B", "{{{{x}}"},
                                           {"HF_TOKEN", "given"},
                                           {"LANG", "of the file"},
                                           {"WANDB_API_KEY", "x"}}));
  EXPECT_EQ(spec.steps[1].envs,
            (Variables{{"B", "{{{{x}}"}, {"HF_TOKEN", "given"}, {"LANG", "de"}}))
      << "what is secret stays so";
}

}  // namespace
}  // namespace runnel::cli
