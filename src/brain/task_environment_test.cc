#include "brain/task_environment.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/testing/story.h"
#include "model/variables.h"

namespace runnel::brain {
namespace {

using testing::amount;
using testing::Story;
using Map = std::map<std::string, std::string>;
using Params = std::vector<std::pair<std::string, std::string>>;

// The environment of task 0 of a job with this one step, placed here.
Map environment(Story& story, model::StepSpec spec, std::vector<model::Place> places,
                Params params = {}) {
  const NodeId node = places.front().node;
  const JobId job = story.submit(testing::job_of("fashion", {std::move(spec)}));
  const auto attempt =
      story.bind(story.open(job, 0, std::move(places), 20'005), 0, std::move(params));
  const auto order = start_order(story.state(), attempt, node);
  EXPECT_TRUE(std::is_sorted(order->env.begin(), order->env.end()));
  Map map(order->env.begin(), order->env.end());
  EXPECT_EQ(map.size(), order->env.size()) << "a variable is set twice";
  return map;
}

Map environment(model::StepSpec spec, Params params = {}) {
  Story story;
  const NodeId node = story.node("n1", amount(16, Bytes::gibi(8), {{"H100", 8}}));
  const std::int32_t ranks = spec.procs_per_node;
  return environment(story, std::move(spec), {{node, ranks}}, std::move(params));
}

NodeId node_at(Story& story, std::string name, std::string address) {
  model::NodeInfo info;
  info.id = NodeId(std::move(name));
  info.address = std::move(address);
  info.capacity = amount(64, Bytes::gibi(8), {{"H100", 8}});
  return story.node(std::move(info));
}

TEST(TaskEnvironment, OfASingleProcess) {
  const Map expected = {{"RUNNEL_JOB_ID", "job1"},
                        {"RUNNEL_JOB_NAME", "fashion"},
                        {"RUNNEL_PROJECT", "default"},
                        {"RUNNEL_STEP", "train"},
                        {"RUNNEL_TASK_INDEX", "0"},
                        {"RUNNEL_TASK_COUNT", "1"},
                        {"RUNNEL_ATTEMPT", "1"},
                        {"RUNNEL_NUM_NODES", "1"},
                        {"RUNNEL_NODE_IPS", "127.0.0.1"},
                        {"RUNNEL_GPUS_PER_NODE", "0"},
                        {"RUNNEL_TRIAL_ID", "job1-train-0"},
                        {"RUNNEL_TRIAL_PARAMS", "{}"},
                        {"OMP_NUM_THREADS", "1"},
                        {"MKL_NUM_THREADS", "1"},
                        {"OPENBLAS_NUM_THREADS", "1"},
                        {"PYTHONUNBUFFERED", "1"},
                        {"CUDA_VISIBLE_DEVICES", ""},
                        {"HIP_VISIBLE_DEVICES", ""},
                        {"NVIDIA_VISIBLE_DEVICES", "void"},
                        {"ROCR_VISIBLE_DEVICES", ""},
                        {"ZE_AFFINITY_MASK", ""}};
  EXPECT_EQ(environment(testing::plain_step("train")), expected);
}

TEST(TaskEnvironment, OfAGang) {
  Story story;
  const NodeId a = node_at(story, "a", "10.0.0.1");
  const NodeId b = node_at(story, "b", "10.0.0.2");
  model::StepSpec spec = testing::plain_step("train");
  spec.num_nodes = 2;
  spec.procs_per_node = 4;
  spec.resources = amount(18, Bytes(), {{"H100", 4}});
  const Map env = environment(story, spec, {{b, 4}, {a, 4}});
  const Map expected = {{"MASTER_ADDR", "10.0.0.2"},
                        {"MASTER_PORT", "20005"},
                        {"WORLD_SIZE", "8"},
                        {"LOCAL_WORLD_SIZE", "4"},
                        {"PET_NNODES", "8"},
                        {"PET_NPROC_PER_NODE", "1"},
                        {"PET_MASTER_ADDR", "10.0.0.2"},
                        {"PET_MASTER_PORT", "20005"},
                        {"PET_RDZV_ENDPOINT", "10.0.0.2:20005"},
                        {"RUNNEL_NODE_IPS", "10.0.0.2\n10.0.0.1"},
                        {"RUNNEL_NUM_NODES", "2"},
                        {"RUNNEL_GPUS_PER_NODE", "4"},
                        {"OMP_NUM_THREADS", "4"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(env.at(name), value) << name;
  EXPECT_FALSE(env.contains("CUDA_VISIBLE_DEVICES"));
  // What differs by rank is not here: model::rank_variables().
  for (const char* name :
       {"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "PET_NODE_RANK", "RUNNEL_NODE_RANK"}) {
    EXPECT_FALSE(env.contains(name)) << name;
  }
}

TEST(TaskEnvironment, ABareTorchrunStartsOneProcessPerDevice) {
  Story story;
  const NodeId a = node_at(story, "a", "10.0.0.1");
  const NodeId b = node_at(story, "b", "10.0.0.2");
  model::StepSpec spec = testing::plain_step("train");
  spec.num_nodes = 2;
  spec.resources = amount(8, Bytes(), {{"H100", 8}});
  EXPECT_EQ(environment(story, spec, {{a, 1}, {b, 1}}).at("PET_NPROC_PER_NODE"), "8");
  spec.resources = amount(8);
  EXPECT_EQ(environment(story, spec, {{a, 1}, {b, 1}}).at("PET_NPROC_PER_NODE"), "1");
}

TEST(TaskEnvironment, ASharedNodeIsListedOncePerPlace) {
  Story story;
  const NodeId a = node_at(story, "a", "10.0.0.1");
  const NodeId b = node_at(story, "b", "10.0.0.2");
  model::StepSpec spec = testing::plain_step("train");
  spec.num_nodes = 3;
  spec.procs_per_node = 2;
  const Map env = environment(story, spec, {{a, 4}, {b, 2}});
  EXPECT_EQ(env.at("RUNNEL_NODE_IPS"), "10.0.0.1\n10.0.0.1\n10.0.0.2");
  EXPECT_EQ(env.at("RUNNEL_NUM_NODES"), "3");
}

TEST(TaskEnvironment, BracketsAnIpv6Endpoint) {
  Story story;
  const NodeId a = node_at(story, "a", "fd00::1");
  model::StepSpec spec = testing::plain_step("train");
  spec.num_nodes = 2;
  const Map env = environment(story, spec, {{a, 2}});
  EXPECT_EQ(env.at("MASTER_ADDR"), "fd00::1");
  EXPECT_EQ(env.at("PET_RDZV_ENDPOINT"), "[fd00::1]:20005");
}

TEST(TaskEnvironment, ThreadsAreTheGrantedCoresByProcess) {
  model::StepSpec spec = testing::plain_step("train");
  spec.resources = amount(6);
  EXPECT_EQ(environment(spec).at("OMP_NUM_THREADS"), "6");
  spec.resources.milli_cpus = 2500;
  EXPECT_EQ(environment(spec).at("MKL_NUM_THREADS"), "2");
  spec.resources.milli_cpus = 200;
  EXPECT_EQ(environment(spec).at("OPENBLAS_NUM_THREADS"), "1");
  spec.whole_node = true;
  EXPECT_EQ(environment(spec).at("OMP_NUM_THREADS"), "16");
}

TEST(TaskEnvironment, TheUsersValueWinsExceptOverOurOwn) {
  model::StepSpec spec = testing::plain_step("train");
  spec.envs = {
      {"CUDA_VISIBLE_DEVICES", "7"}, {"OMP_NUM_THREADS", "3"},         {"OTHER", "x"},
      {"PYTHONUNBUFFERED", ""},      {"RUNNEL_HOME", "/elsewhere"},    {"RUNNEL_JOB_ID", "forged"},
      {"RUNNEL_TOKEN", "forged"},    {"RUNNEL_VOLUME_DATA", "/forged"}};
  const Map env = environment(spec);
  EXPECT_EQ(env.at("CUDA_VISIBLE_DEVICES"), "7");
  EXPECT_EQ(env.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(env.at("MKL_NUM_THREADS"), "1");
  EXPECT_EQ(env.at("OTHER"), "x");
  EXPECT_EQ(env.at("PYTHONUNBUFFERED"), "");
  EXPECT_EQ(env.at("RUNNEL_HOME"), "/elsewhere");
  EXPECT_EQ(env.at("RUNNEL_JOB_ID"), "job1");
  EXPECT_FALSE(env.contains("RUNNEL_TOKEN"));
  EXPECT_FALSE(env.contains("RUNNEL_VOLUME_DATA"));
}

// What the user is told of is what we would have given: no name more, no name less.
TEST(TaskEnvironment, EveryVariableThatAnEnvMayReplaceIsKnown) {
  model::StepSpec alone = testing::plain_step("train");
  model::StepSpec gang = testing::plain_step("train");
  gang.procs_per_node = 2;
  for (model::StepSpec* const each : {&alone, &gang}) {
    model::StepSpec& step = *each;
    std::vector<std::string> ours;
    for (const auto& [name, value] : environment(step)) {
      // How Python prints is a preference: whoever has another one means it.
      if (name == "PYTHONUNBUFFERED") continue;
      if (!model::is_own_variable(name)) ours.push_back(name);
    }
    model::StartOrder order;
    order.world_size = order.rank_count = step.rank_count();
    for (const auto& [name, value] : model::rank_variables(order, 0)) {
      if (!model::is_own_variable(name)) ours.push_back(name);
    }
    std::sort(ours.begin(), ours.end());
    for (const std::string& name : ours) step.envs.emplace_back(name, "mine");
    step.envs.emplace_back("ZZZ", "theirs");
    EXPECT_EQ(model::replaced_variables(step), ours) << step.rank_count() << " ranks";
  }
}

TEST(TaskEnvironment, TheSubmittersShellIsTheWeakest) {
  Story story;
  const NodeId node = story.node("n1", amount(4));
  model::StepSpec step = testing::plain_step("train");
  step.envs = {{"LANG", "of the file"}};
  model::JobSpec spec = testing::job_of("x", {step});
  spec.environment = {{"LANG", "of the shell"},
                      {"OMP_NUM_THREADS", "99"},
                      {"PATH", "{{raw}}"},
                      {"RUNNEL_JOB_ID", "forged"}};
  const JobId job = story.submit(std::move(spec));
  const auto order =
      start_order(story.state(), story.bind(story.open(job, 0, {{node, 1}}), 0), node);
  const Map map(order->env.begin(), order->env.end());
  EXPECT_EQ(map.at("LANG"), "of the file");
  EXPECT_EQ(map.at("OMP_NUM_THREADS"), "1");
  EXPECT_EQ(map.at("PATH"), "{{raw}}") << "no template: it was never written for us";
  EXPECT_EQ(map.at("RUNNEL_JOB_ID"), "job1");
}

TEST(TaskEnvironment, FillsTemplatesInTheUsersValues) {
  model::StepSpec spec = testing::plain_step("train");
  spec.envs = {{"OUT", "out/{{lr}}/{{job.id}}"}, {"SHAPE", "{{{{x}}"}};
  const Map env = environment(spec, {{"lr", "0.1"}});
  EXPECT_EQ(env.at("OUT"), "out/0.1/job1");
  EXPECT_EQ(env.at("SHAPE"), "{{x}}");
}

std::string params_text(Params params) {
  return environment(testing::plain_step("train"), std::move(params)).at("RUNNEL_TRIAL_PARAMS");
}

TEST(TaskEnvironment, ParametersAreAJsonObjectWithNumbersAsNumbers) {
  EXPECT_EQ(params_text({{"width", "64"}, {"lr", "1e-04"}, {"opt", "adam"}}),
            R"({"lr":1e-04,"opt":"adam","width":64})");
  EXPECT_EQ(params_text({{"q", "a \"b\"\n"}}), R"({"q":"a \"b\"\n"})");
}

TEST(TaskEnvironment, OnlyWhatJsonCallsANumberIsOne) {
  for (const char* number : {"0", "-0", "12", "-1.5", "0.25", "1e5", "1E+5", "2.5e-10"}) {
    EXPECT_EQ(params_text({{"x", number}}), std::string("{\"x\":") + number + "}");
  }
  for (const char* text : {"", "-", "007", "1.", ".5", "+1", "1e", "1e+", "0x10", "1_000", "nan",
                           "inf", "true", "1 ", "12:00", "--1", "1.5.2"}) {
    EXPECT_EQ(params_text({{"x", text}}), std::string("{\"x\":\"") + text + "\"}");
  }
}

TEST(TaskEnvironment, TellsHowOftenToSave) {
  model::StepSpec spec = testing::plain_step("train");
  const auto every = [&](Duration duration) {
    spec.checkpoint = model::CheckpointPolicy{.dir = "ckpt", .every = duration, .exit_code = {}};
    const Map env = environment(spec);
    const auto found = env.find("RUNNEL_CHECKPOINT_EVERY");
    return found == env.end() ? std::string("unset") : found->second;
  };
  EXPECT_EQ(every(Duration::minutes(10)), "600");
  EXPECT_EQ(every(Duration::millis(1'250)), "1.25");
  EXPECT_EQ(every(Duration::millis(50)), "0.05");
  EXPECT_EQ(every(Duration()), "unset");
}

TEST(TaskEnvironment, TheIdSurvivesEveryRecoveryOnlyTheAttemptGrows) {
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("x", {testing::plain_step("a")}));
  const LaneId lane = story.open(job, 0, {{node, 1}});
  story.end(story.bind(lane, 0), model::Status::kNodeFail, model::Status::kRecovering);
  const auto order = start_order(story.state(), story.bind(lane, 0), node);
  Map env(order->env.begin(), order->env.end());
  EXPECT_EQ(env["RUNNEL_ATTEMPT"], "2");
  EXPECT_EQ(env["RUNNEL_TRIAL_ID"], "job1-a-0");
}

}  // namespace
}  // namespace runnel::brain
