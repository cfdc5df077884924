#include "model/variables.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

using Map = std::map<std::string, std::string>;

StartOrder gang(std::int32_t num_nodes, std::int32_t per_node) {
  StartOrder order;
  order.num_nodes = num_nodes;
  order.world_size = num_nodes * per_node;
  order.rank_count = order.world_size;
  return order;
}

Map variables_of(const StartOrder& order, std::int32_t rank) {
  const auto list = rank_variables(order, rank);
  Map map(list.begin(), list.end());
  EXPECT_EQ(map.size(), list.size()) << "a variable is set twice";
  return map;
}

TEST(OwnVariables, AreOursWhateverTheUserSays) {
  for (const char* name : {"RUNNEL_JOB_ID", "RUNNEL_API", "RUNNEL_TRIAL_PARAMS", "RUNNEL_TASK_DIR",
                           "RUNNEL_VOLUME_DATA"}) {
    EXPECT_TRUE(is_own_variable(name)) << name;
  }
}

TEST(VolumeVariable, IsTheNameInCapitals) {
  EXPECT_EQ(volume_variable("data"), "RUNNEL_VOLUME_DATA");
  EXPECT_EQ(volume_variable("test-set_2"), "RUNNEL_VOLUME_TEST_SET_2");
  EXPECT_TRUE(is_own_variable(volume_variable("data")));
}

TEST(BranchOf, EachRankOfATaskHasItsName) {
  StepSpec step;
  step.name = "train";
  const std::string task = branch_of_task(branches_of_step(JobId("job"), step), TaskIndex(3));
  EXPECT_EQ(task, "job.train.3");
  EXPECT_EQ(branch_of_rank(task, 0, 1), task);
  EXPECT_EQ(branch_of_rank(task, 0, 2), "job.train.3.0");
}

TEST(OwnVariables, TheRestIsTheUsers) {
  for (const char* name : {"RANK", "MASTER_ADDR", "OMP_NUM_THREADS", "RUNNEL_HOME", "RUNNEL_", "",
                           "RUNNEL_JOB_IDS", "runnel_job_id", "PATH"}) {
    EXPECT_FALSE(is_own_variable(name)) << name;
  }
}

StepSpec step_with(std::vector<std::string> names) {
  StepSpec step;
  std::sort(names.begin(), names.end());
  for (std::string& name : names) step.envs.emplace_back(std::move(name), "x");
  return step;
}

TEST(ReplacedVariables, ThreadsAreAlwaysOursToGive) {
  EXPECT_EQ(replaced_variables(step_with({"OMP_NUM_THREADS", "PATH", "RUNNEL_HOME"})),
            std::vector<std::string>{"OMP_NUM_THREADS"});
  EXPECT_TRUE(replaced_variables(step_with({"NCCL_DEBUG", "OMP_PROC_BIND"})).empty());
}

TEST(ReplacedVariables, DevicesAreOursToShowOrToHide) {
  StepSpec step = step_with({"CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"});
  EXPECT_EQ(replaced_variables(step), std::vector<std::string>{"CUDA_VISIBLE_DEVICES"});
  step.resources.accelerators["TPU-v5e"] = 1;
  EXPECT_EQ(replaced_variables(step),
            (std::vector<std::string>{"CUDA_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS"}));
}

TEST(ReplacedVariables, RanksAreInAGangOnly) {
  StepSpec step = step_with({"MASTER_PORT", "PET_NNODES", "RANK", "WORLD_SIZE"});
  EXPECT_TRUE(replaced_variables(step).empty()) << "one process forms no gang";
  step.num_nodes = 2;
  EXPECT_EQ(replaced_variables(step),
            (std::vector<std::string>{"MASTER_PORT", "PET_NNODES", "RANK", "WORLD_SIZE"}));
}

TEST(RankVariables, ASingleProcessSeesNoGang) {
  EXPECT_EQ(variables_of(gang(1, 1), 0), (Map{{"RUNNEL_NODE_RANK", "0"}}));
}

TEST(RankVariables, OneProcessPerNodeLeavesLocalRankToTorchrun) {
  EXPECT_EQ(variables_of(gang(4, 1), 3), (Map{{"RUNNEL_NODE_RANK", "3"},
                                              {"GROUP_RANK", "3"},
                                              {"NODE_RANK", "3"},
                                              {"PET_NODE_RANK", "3"},
                                              {"RANK", "3"}}));
}

TEST(RankVariables, SeveralProcessesPerNodeCountWithinTheirNode) {
  EXPECT_EQ(variables_of(gang(2, 4), 6), (Map{{"RUNNEL_NODE_RANK", "1"},
                                              {"GROUP_RANK", "1"},
                                              {"LOCAL_RANK", "2"},
                                              {"NODE_RANK", "1"},
                                              {"PET_NODE_RANK", "6"},
                                              {"RANK", "6"}}));
}

TEST(RankVariables, SharedNodesStillLookLikeNodes) {
  StartOrder order = gang(3, 2);  // Places 1 and 2 of three on this machine.
  order.first_rank = 2;
  order.rank_count = 4;
  order.node_rank = 1;
  EXPECT_EQ(variables_of(order, 3)["NODE_RANK"], "1");
  EXPECT_EQ(variables_of(order, 4)["NODE_RANK"], "2");
  EXPECT_EQ(variables_of(order, 4)["RUNNEL_NODE_RANK"], "2");
  EXPECT_EQ(variables_of(order, 4)["LOCAL_RANK"], "0");
}

TEST(RankVariables, GiveWayToTheUsersOwn) {
  StartOrder order = gang(2, 1);
  order.env = {{"NODE_RANK", "mine"}, {"RANK", ""}};
  const Map variables = variables_of(order, 1);
  EXPECT_FALSE(variables.contains("NODE_RANK"));
  EXPECT_FALSE(variables.contains("RANK"));
  EXPECT_EQ(variables.at("RUNNEL_NODE_RANK"), "1");
}

TEST(RankVariables, EachRankHasTheDevicesOfItsPlace) {
  StartOrder order = gang(3, 2);  // Places 1 and 2 of three on this machine.
  order.first_rank = 2;
  order.rank_count = 4;
  order.place_env = {{{"CUDA_VISIBLE_DEVICES", "4"}, {"X", "a"}},
                     {{"CUDA_VISIBLE_DEVICES", "5"}, {"X", "b"}}};
  order.env = {{"X", "mine"}};
  EXPECT_EQ(variables_of(order, 2)["CUDA_VISIBLE_DEVICES"], "4");
  EXPECT_EQ(variables_of(order, 3)["CUDA_VISIBLE_DEVICES"], "4") << "LOCAL_RANK picks";
  EXPECT_EQ(variables_of(order, 4)["CUDA_VISIBLE_DEVICES"], "5");
  EXPECT_FALSE(variables_of(order, 4).contains("X")) << "the user's";
}

TEST(ShellVariable, IsWhatTheSourceNames) {
  EXPECT_EQ(shell_variable({"TOKEN", "env:MY_TOKEN"}), "MY_TOKEN");
  EXPECT_EQ(shell_variable({"TOKEN", "file:/env:x"}), "");
}

TEST(RankVariablesDeathTest, ARankOfAnotherOrderIsOurBug) {
  StartOrder order = gang(2, 2);
  order.first_rank = 2;
  order.rank_count = 2;
  EXPECT_DEATH((void)rank_variables(order, 1), "before those of its order");
  EXPECT_DEATH((void)rank_variables(order, 4), "after those of its order");
}

}  // namespace
}  // namespace runnel::model
