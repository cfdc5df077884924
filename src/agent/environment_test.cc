#include "agent/environment.h"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

using Texts = std::vector<std::string>;

model::StartOrder order_of(std::int32_t ranks = 1, std::int32_t nodes = 1) {
  model::StartOrder order;
  order.attempt = {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
  order.rank_count = ranks;
  order.world_size = ranks * nodes;
  order.num_nodes = nodes;
  order.argv = {"true"};
  order.workdir = "/work";
  return order;
}

// The environment of one rank; a name that stands twice is a failure.
std::map<std::string, std::string> of_rank(const RankEnvironments& all, std::size_t rank) {
  std::map<std::string, std::string> env;
  for (const runner::TextBlock& block : {all.shared, all.by_rank.at(rank)}) {
    for (const std::string_view text : block.texts()) {
      const std::size_t equals = text.find('=');
      EXPECT_TRUE(env.emplace(text.substr(0, equals), text.substr(equals + 1)).second) << text;
    }
  }
  return env;
}

TEST(Inheritable, LeavesOutWhatBelongsToTheDaemon) {
  const Texts kept = inheritable({"PATH=/bin", "HOME=/root", "RUNNEL_HOME=/h", "RANK=3", "PWD=/x",
                                  "WORLD_SIZE=4", "MASTER_ADDR=a", "PET_NNODES=2", "SHLVL=1",
                                  "_=/bin/x", "CONDA_PREFIX=/c", "LANG=", "nonsense", "=odd"});
  EXPECT_EQ(kept, (Texts{"PATH=/bin", "HOME=/root", "LANG="}));
}

TEST(DetachedEnvironment, DoesNotBelongToATask) {
  EXPECT_EQ(detached_environment({"HOME=/root", "RUNNEL_ATTEMPT_KEY=h1.2:3:0", "RUNNEL_ATTEMPT=2"}),
            (Texts{"HOME=/root", "RUNNEL_ATTEMPT_KEY=detached"}));
}

TEST(DetachedEnvironment, HasNothingOfTheShellBeyondTheListedNames) {
  EXPECT_EQ(detached_environment({"XDG_CONFIG_HOME=/c"}),
            (Texts{"XDG_CONFIG_HOME=/c", "RUNNEL_ATTEMPT_KEY=detached"}))
      << "prices are found there";
  EXPECT_EQ(detached_environment({"PATH=/bin", "HF_TOKEN=secret", "LD_LIBRARY_PATH=/lib", "SHLVL=1",
                                  "AWS_SECRET_ACCESS_KEY=secret", "LD_LIBRARY_PATHS=x", "odd"}),
            (Texts{"PATH=/bin", "LD_LIBRARY_PATH=/lib", "RUNNEL_ATTEMPT_KEY=detached"}));
}

TEST(DaemonEnvironment, HasTheDevicesThatAShellShows) {
  EXPECT_EQ(daemon_environment({"PATH=/bin", "CUDA_VISIBLE_DEVICES=5", "HF_TOKEN=secret"}),
            (Texts{"PATH=/bin", "RUNNEL_ATTEMPT_KEY=detached", "CUDA_VISIBLE_DEVICES=5"}));
  EXPECT_EQ(daemon_environment({"CUDA_VISIBLE_DEVICES=5", "RUNNEL_API=unix:/h/daemon.sock"}),
            (Texts{"RUNNEL_ATTEMPT_KEY=detached"}))
      << "those are a task's grant";
  EXPECT_EQ(detached_environment({"CUDA_VISIBLE_DEVICES=5"}),
            (Texts{"RUNNEL_ATTEMPT_KEY=detached"}))
      << "a runner declares nothing";
  EXPECT_EQ(inheritable({"CUDA_VISIBLE_DEVICES=5"}), Texts()) << "nor does a task get it";
}

TEST(RankEnvironments, TheOrderIsStrongerThanWhatIsInherited) {
  model::StartOrder order = order_of();
  order.env = {{"A", "ours"}, {"OMP_NUM_THREADS", "2"}};
  const auto env = of_rank(MUST(rank_environments(order, {"A=theirs", "B=inherited"}, {})), 0);
  EXPECT_EQ(env.at("A"), "ours");
  EXPECT_EQ(env.at("B"), "inherited");
  EXPECT_EQ(env.at("PWD"), "/work");
  EXPECT_EQ(env.at("RUNNEL_NODE_RANK"), "0");
  EXPECT_FALSE(env.contains("RANK")) << "a single task is no gang";
}

TEST(RankEnvironments, RanksDiffer) {
  model::StartOrder order = order_of(2, 2);
  order.first_rank = 2;
  order.node_rank = 1;
  order.env = {{"WORLD_SIZE", "4"}};
  const RankEnvironments all = MUST(rank_environments(order, {"RUNNEL_NODE_RANK=9"}, {}));
  ASSERT_EQ(all.by_rank.size(), 2U);
  const auto first = of_rank(all, 0);
  const auto second = of_rank(all, 1);
  EXPECT_EQ(first.at("RANK"), "2");
  EXPECT_EQ(second.at("RANK"), "3");
  EXPECT_EQ(first.at("LOCAL_RANK"), "0");
  EXPECT_EQ(second.at("LOCAL_RANK"), "1");
  EXPECT_EQ(second.at("NODE_RANK"), "1");
  EXPECT_EQ(second.at("RUNNEL_NODE_RANK"), "1");
}

TEST(RankEnvironments, WithOneProcessPerNodeLocalRankIsTorchruns) {
  model::StartOrder order = order_of(1, 2);
  const auto env = of_rank(MUST(rank_environments(order, {}, {})), 0);
  EXPECT_EQ(env.at("RANK"), "0");
  EXPECT_FALSE(env.contains("LOCAL_RANK"));
}

TEST(RankEnvironments, TheUsersValueWinsOverOursByRank) {
  model::StartOrder order = order_of(2);
  order.env = {{"RANK", "mine"}};
  const RankEnvironments all = MUST(rank_environments(order, {}, {}));
  EXPECT_EQ(of_rank(all, 0).at("RANK"), "mine");
  EXPECT_EQ(of_rank(all, 1).at("RANK"), "mine");
}

TEST(RankEnvironments, OneRankMayHaveWhatOthersHaveNot) {
  model::StartOrder order = order_of(2);
  order.env = {{"OUT", "the user's"}};
  const VariablesOfRanks made = {{order.first_rank + 1, {{"OUT", "/mnt"}}}};
  const RankEnvironments all = MUST(rank_environments(order, {}, {}, "", made));
  EXPECT_EQ(of_rank(all, 1).at("OUT"), "/mnt");
  EXPECT_FALSE(of_rank(all, 0).contains("OUT"));
}

TEST(RankEnvironments, SecretsComeInAndTheirSourcesStayOut) {
  model::StartOrder order = order_of();
  order.secrets = {{"TOKEN", "env:MY_TOKEN"}, {"KEY", "env:KEY"}, {"CERT", "file:/cert"}};
  order.env = {{"TOKEN", "not this"}};
  const Texts inherited = {"MY_TOKEN=leak", "KEY=stale", "OTHER=1"};
  const std::vector<std::pair<std::string, std::string>> values = {
      {"TOKEN", "secret"}, {"KEY", "fresh"}, {"CERT", "pem"}};
  const auto env = of_rank(MUST(rank_environments(order, inherited, values)), 0);
  EXPECT_EQ(env.at("TOKEN"), "secret");
  EXPECT_EQ(env.at("KEY"), "fresh");
  EXPECT_EQ(env.at("CERT"), "pem");
  EXPECT_FALSE(env.contains("MY_TOKEN"));
  EXPECT_EQ(env.at("OTHER"), "1");
}

TEST(RankEnvironments, AZeroByteIsAnErrorThatNamesTheVariable) {
  model::StartOrder order = order_of();
  order.env = {{"A", std::string("b\0c", 3)}};
  const Result<RankEnvironments> bad = rank_environments(order, {}, {});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "the variable A holds a zero byte");
  order.env.clear();
  order.workdir = std::string("/a\0b", 4);
  EXPECT_FALSE(rank_environments(order, {}, {}).ok());
}

TEST(RankEnvironments, TheRunnersNamesAreTheRunners) {
  model::StartOrder order = order_of();
  order.env = {{"RUNNEL_TASK_DIR", "/etc"}, {"RUNNEL_ATTEMPT_KEY", "detached"}};
  const auto env = of_rank(MUST(rank_environments(order, {}, {})), 0);
  EXPECT_FALSE(env.contains("RUNNEL_TASK_DIR"));
  EXPECT_FALSE(env.contains("RUNNEL_ATTEMPT_KEY"));
}

TEST(RankEnvironments, PutOurPythonPathBehindTheirs) {
  const auto path_of = [](const std::optional<std::string>& theirs) {
    model::StartOrder order;
    order.rank_count = 1;
    if (theirs) order.env.emplace_back("PYTHONPATH", *theirs);
    return of_rank(MUST(rank_environments(order, {}, {}, "/home/lib")), 0).at("PYTHONPATH");
  };
  EXPECT_EQ(path_of(std::nullopt), "/home/lib");
  EXPECT_EQ(path_of("/theirs"), "/theirs:/home/lib");
  EXPECT_EQ(path_of(""), "") << "they want none";
}

}  // namespace
}  // namespace runnel::agent
