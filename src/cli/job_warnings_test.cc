#include "cli/job_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(JobWarnings, NameAReplacedVariableOnce) {
  model::JobSpec spec;
  spec.steps.resize(2);
  for (model::StepSpec& step : spec.steps) {
    step.num_nodes = 2;
    step.envs = {{"MASTER_PORT", "1"}, {"MINE", "2"}};
  }
  EXPECT_THAT(replaced_variable_warnings(spec), ElementsAre(StartsWith("envs.MASTER_PORT takes")));
}

TEST(JobWarnings, NameAParameterThatAScriptTakesForAVariable) {
  const auto warnings = [](const std::string& script) {
    model::JobSpec spec;
    spec.steps.resize(1);
    spec.steps[0].name = "train";
    spec.steps[0].params.resize(1);
    spec.steps[0].params[0].name = "lr";
    spec.steps[0].envs = {{"MINE", "1"}};
    spec.steps[0].run = model::Command::shell(script);
    return shell_parameter_warnings(spec);
  };
  for (const char* script : {"echo \"lr=$lr\"", "train --lr ${lr}", "a $lr $lrate"}) {
    EXPECT_THAT(warnings(script), ElementsAre(HasSubstr("steps.train.run has $lr, "))) << script;
  }
  for (const char* script : {"echo {{lr}}", "lr={{lr}}; echo $lr", "echo $lrate $MINE", "true"}) {
    EXPECT_THAT(warnings(script), ElementsAre()) << script;
  }
}

TEST(JobWarnings, NameWhatStaysInTheShellInOneLine) {
  model::JobSpec spec;
  spec.steps.resize(1);
  EXPECT_THAT(
      left_behind_warnings(spec, {"HF_TOKEN=x", "WANDB_API_KEY=y", "MINE=z"}, "/h/nodes.yaml"),
      ElementsAre(HasSubstr("not passed to tasks: HF_TOKEN, WANDB_API_KEY;")));
}

TEST(JobWarnings, SayThatDevicesAreNotAskedFor) {
  model::JobSpec spec;
  spec.steps.resize(2);
  std::vector<model::NodeInfo> nodes(2);
  EXPECT_THAT(unused_device_warnings(spec, nodes), ElementsAre());
  for (model::NodeInfo& node : nodes) node.capacity.accelerators = {{"H100", 2}, {"L4", 1}};
  EXPECT_THAT(unused_device_warnings(spec, nodes),
              ElementsAre(AllOf(HasSubstr("none of this home's 4 H100, 2 L4;"),
                                HasSubstr("--gpus H100:1"))));
  spec.steps[1].envs = {{"CUDA_VISIBLE_DEVICES", "0"}};
  EXPECT_THAT(unused_device_warnings(spec, nodes), ElementsAre());
  spec.steps[1].envs.clear();
  spec.steps[1].resources.accelerators["L4"] = 1;
  EXPECT_THAT(unused_device_warnings(spec, nodes), ElementsAre());
}

TEST(JobWarnings, SayWhereDevicesAreDeclared) {
  model::JobSpec spec;
  spec.steps.resize(1);
  EXPECT_THAT(left_behind_warnings(spec, {"CUDA_VISIBLE_DEVICES=1"}, "/h/nodes.yaml"),
              ElementsAre(AllOf(HasSubstr("sees none"), HasSubstr("/h/nodes.yaml"),
                                HasSubstr("-e CUDA_VISIBLE_DEVICES"))));
}

}  // namespace
}  // namespace runnel::cli
