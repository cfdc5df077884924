#include <map>

#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/testing/story.h"
#include "model/publishing_steps.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::amount;
using testing::Story;

std::vector<std::string> names_of(const std::vector<DesiredAttempt>& attempts) {
  std::vector<std::string> names;
  for (const DesiredAttempt& wanted : attempts) names.push_back(to_string(wanted.attempt));
  return names;
}

model::StepSpec gang_step(std::int32_t num_nodes, std::int32_t per_node) {
  model::StepSpec spec = testing::plain_step("train");
  spec.num_nodes = num_nodes;
  spec.procs_per_node = per_node;
  return spec;
}

TEST(StartOrder, CarriesWhatTheStepSays) {
  model::StepSpec spec = testing::plain_step("train");
  spec.resources = amount(2, Bytes::gibi(4));
  spec.max_duration = Duration::minutes(5);
  spec.grace = Duration::seconds(7);
  spec.max_log = Bytes::mebi(3);
  spec.secrets = {{"TOKEN", "env:TOKEN"}};
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("fashion", {spec}));
  const auto attempt = story.running(job, 0, 0, node);
  const auto order = start_order(story.state(), attempt, node);
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->attempt, attempt);
  EXPECT_EQ(order->lane, LaneId(1));
  EXPECT_EQ(order->argv, (std::vector<std::string>{"/bin/sh", "-ec", "true"}));
  EXPECT_EQ(order->workdir, "/home/ada/project");
  EXPECT_EQ(order->memory_max, Bytes::gibi(4));
  EXPECT_EQ(order->milli_cpus, 2000);
  EXPECT_EQ(order->max_duration, Duration::minutes(5));
  EXPECT_EQ(order->grace, Duration::seconds(7));
  EXPECT_EQ(order->max_log, Bytes::mebi(3));
  EXPECT_EQ(order->secrets, spec.secrets);
  EXPECT_EQ(order->world_size, 1);
  EXPECT_EQ(order->port, 0);
  EXPECT_FALSE(order->keep_task_dir);
}

TEST(StartOrder, SaysWhichBranchesAreWrittenAndMerged) {
  model::StepSpec writing = testing::plain_step("train");
  writing.task_count = 6;
  writing.procs_per_node = 2;
  writing.volumes = {{"out", "results", "", "file:///v", false, model::VolumeMode::kWrite}};
  model::JobSpec spec = testing::job_of("fashion", {writing});
  MUST(model::add_publishing_steps(spec));
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(spec);
  const auto written = start_order(story.state(), story.running(job, 0, 1, node), node);
  EXPECT_EQ(written->branch, job.str() + ".train.1");
  EXPECT_FALSE(written->merge);
  story.tasks_become(job, 0, {2, 4}, Status::kSucceeded);
  const auto merged = start_order(story.state(), story.running(job, 1, 0, node), node);
  ASSERT_TRUE(merged->merge);
  EXPECT_EQ(merged->merge->branches, job.str() + ".train");
  EXPECT_EQ(merged->merge->tasks, (std::vector<std::pair<std::int64_t, std::int64_t>>{{2, 4}}));
  EXPECT_EQ(merged->merge->world_size, 2);
  EXPECT_TRUE(merged->branch.empty());
}

TEST(StartOrder, ReadsTheVersionThatAStepBeforeHasPublished) {
  model::StepSpec writing = testing::plain_step("train");
  writing.volumes = {{"out", "results", "", "file:///v", false, model::VolumeMode::kWrite}};
  model::StepSpec reading = testing::plain_step("report");
  reading.depends_on = {StepIndex(0)};
  reading.volumes = {{"in", "results", "latest", "file:///v"}};
  model::JobSpec spec = testing::job_of("fashion", {writing, reading});
  MUST(model::add_publishing_steps(spec));
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(spec);
  story.tasks_become(job, 0, {0, 1}, Status::kSucceeded);
  const model::AttemptRef publishing = story.running(job, 2, 0, node);
  model::AttemptEnded ended;
  ended.attempt = publishing;
  ended.lane = find_task(story.state(), publishing.task)->live->lane;
  ended.published = {{"out", "0123456789abcdef"}};
  story.tell(ended);
  EXPECT_EQ(story.state().jobs.at(job).steps[2].published, ended.published);
  const auto order = start_order(story.state(), story.running(job, 1, 0, node), node);
  ASSERT_EQ(order->volumes.size(), 1U);
  EXPECT_EQ(order->volumes[0].version, "0123456789abcdef");
  EXPECT_EQ(story.state().jobs.at(job).spec->steps[1].volumes[0].version, "latest");
}

TEST(StartOrder, SaysWhereMetricsAreAndWhatASearchLooksAt) {
  model::StepSpec spec = testing::plain_step("train");
  spec.metrics = {{{"train", "%{FLOAT:loss}"}}, "tb"};
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("fashion", {spec}));
  const auto order = start_order(story.state(), story.running(job, 0, 0, node), node);
  EXPECT_EQ(order->metrics, spec.metrics);
  EXPECT_TRUE(order->objectives.empty());
}

TEST(StartOrder, KeepsTheFolderOfATaskThatMayBeTriedAgain) {
  model::StepSpec retried = testing::plain_step("a");
  retried.retry.max = 1;
  model::StepSpec saving = testing::plain_step("b");
  saving.checkpoint = model::CheckpointPolicy{.dir = "ckpt", .every = {}, .exit_code = {}};
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("x", {retried, saving}));
  EXPECT_TRUE(start_order(story.state(), story.running(job, 0, 0, node), node)->keep_task_dir);
  const auto order = start_order(story.state(), story.running(job, 1, 0, node), node);
  EXPECT_TRUE(order->keep_task_dir);
  EXPECT_EQ(order->checkpoint, saving.checkpoint);
}

TEST(StartOrder, FillsTemplatesInScriptsAndArguments) {
  model::StepSpec script = testing::plain_step("a");
  script.run = model::Command::shell(
      "train --lr {{lr}} --i {{ task.index }}/{{task.count}} {{{{x}} {{job.name}}");
  script.task_count = 9;
  model::StepSpec command = testing::plain_step("b");
  command.run = model::Command::words({"echo", "{{item}}", "{{job.id}}-{{item}}"});
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("fashion", {script, command}));
  const auto first = story.bind(story.open(job, 0, {{node, 1}}), 4, {{"lr", "0.01"}});
  const auto second = story.bind(story.open(job, 1, {{node, 1}}), 0, {{"item", "a b"}});
  EXPECT_EQ(start_order(story.state(), first, node)->argv[2],
            "train --lr 0.01 --i 4/9 {{x}} fashion");
  EXPECT_EQ(start_order(story.state(), second, node)->argv,
            (std::vector<std::string>{"echo", "a b", "job1-a b"}));
}

TEST(StartOrder, AParameterMayBeNamedLikeATaskName) {
  model::StepSpec spec = testing::plain_step("a");
  spec.run = model::Command::shell("{{task.index}}");
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const JobId job = story.submit(testing::job_of("x", {spec}));
  const auto attempt = story.bind(story.open(job, 0, {{node, 1}}), 0, {{"task.index", "mine"}});
  EXPECT_EQ(start_order(story.state(), attempt, node)->argv[2], "mine");
}

TEST(StartOrder, IsForLiveAttemptsOnTheirNodesOnly) {
  Story story;
  const NodeId node = story.node("n1", amount(8));
  const NodeId other = story.node("n2", amount(8));
  const JobId job = story.submit(testing::job_of("x", {testing::plain_step("a")}));
  const auto attempt = story.running(job, 0, 0, node);
  EXPECT_TRUE(start_order(story.state(), attempt, node).has_value());
  EXPECT_FALSE(start_order(story.state(), attempt, other).has_value());
  EXPECT_FALSE(start_order(story.state(), {attempt.task, AttemptNumber(2)}, node).has_value());
  EXPECT_FALSE(
      start_order(story.state(), {{JobId("nobody"), {}, {}}, AttemptNumber(1)}, node).has_value());
  story.end(attempt, Status::kNodeFail, Status::kRecovering);
  EXPECT_FALSE(start_order(story.state(), attempt, node).has_value());
}

TEST(StartOrder, GivesEachNodeItsRanks) {
  Story story;
  const NodeId a = story.node("a", amount(8));
  const NodeId b = story.node("b", amount(8));
  const NodeId c = story.node("c", amount(8));
  const JobId job = story.submit(testing::job_of("x", {gang_step(3, 2)}));
  const auto attempt = story.bind(story.open(job, 0, {{c, 2}, {a, 2}, {b, 2}}, 20'001), 0);
  const auto ranks_on = [&](const NodeId& node) {
    const auto order = start_order(story.state(), attempt, node);
    EXPECT_EQ(order->world_size, 6);
    EXPECT_EQ(order->num_nodes, 3);
    EXPECT_EQ(order->port, 20'001);
    return std::vector<std::int32_t>{order->first_rank, order->rank_count, order->node_rank};
  };
  EXPECT_EQ(ranks_on(c), (std::vector<std::int32_t>{0, 2, 0}));
  EXPECT_EQ(ranks_on(a), (std::vector<std::int32_t>{2, 2, 1}));
  EXPECT_EQ(ranks_on(b), (std::vector<std::int32_t>{4, 2, 2}));
}

TEST(StartOrder, ASharedNodeRunsTheRanksOfAllItsPlaces) {
  Story story;
  const NodeId a = story.node("a", amount(8));
  const NodeId b = story.node("b", amount(8));
  model::StepSpec spec = gang_step(3, 2);
  spec.resources = amount(2, Bytes::gibi(1));
  const JobId job = story.submit(testing::job_of("x", {spec}));
  const auto attempt = story.bind(story.open(job, 0, {{a, 2}, {b, 4}}, 20'001), 0);
  const auto order = start_order(story.state(), attempt, b);
  EXPECT_EQ(order->first_rank, 2);
  EXPECT_EQ(order->rank_count, 4);
  EXPECT_EQ(order->node_rank, 1);
  EXPECT_EQ(order->num_nodes, 3);
  EXPECT_EQ(order->memory_max, Bytes::gibi(2)) << "one limit for both places";
  EXPECT_EQ(order->milli_cpus, 4'000);
  EXPECT_EQ(nodes_of(story.state(), attempt), (std::vector<NodeId>{a, b}));
}

TEST(StopOrder, SaysWhy) {
  const std::map<Status, model::StopReason> reasons = {
      {Status::kCancelled, model::StopReason::kCancelled},
      {Status::kPaused, model::StopReason::kHalted},
      {Status::kFailed, model::StopReason::kRankFailed},
      {Status::kPreempted, model::StopReason::kPreempted},
      {Status::kQueued, model::StopReason::kWithdrawn}};
  for (const auto& [because, reason] : reasons) {
    Story story;
    const NodeId node = story.node("n1", amount(8));
    model::StepSpec spec = testing::plain_step("a");
    spec.grace = Duration::seconds(9);
    const JobId job = story.submit(testing::job_of("x", {spec}));
    const auto attempt = story.running(job, 0, 0, node);
    story.stop(attempt, because);
    const auto order = stop_order(story.state(), attempt, because);
    ASSERT_TRUE(order.has_value());
    EXPECT_EQ(order->attempt, attempt);
    EXPECT_EQ(order->grace, Duration::seconds(9));
    EXPECT_EQ(order->reason, reason);
    story.end(attempt, Status::kCancelled, Status::kCancelled);
    EXPECT_TRUE(nodes_of(story.state(), attempt).empty());
  }
}

TEST(Desired, HoldsEveryLiveAttemptInLaneOrder) {
  Story story;
  const NodeId a = story.node("a", amount(8));
  const NodeId b = story.node("b", amount(8));
  model::StepSpec many = testing::plain_step("many");
  many.task_count = 10;
  const JobId job = story.submit(testing::job_of("x", {many, gang_step(2, 1)}));
  const LaneId first = story.open(job, 0, {{a, 1}});
  const LaneId second = story.open(job, 0, {{b, 1}});
  const LaneId gang = story.open(job, 1, {{b, 1}, {a, 1}}, 20'000);
  story.bind(first, 3);
  story.bind(second, 4);
  story.bind(gang, 0);
  const auto behind = story.bind(first, 1);
  story.stop(behind, Status::kPaused);
  EXPECT_EQ(names_of(desired(story.state(), a)),
            (std::vector<std::string>{"job1/s0/t3/a1", "job1/s0/t1/a1", "job1/s1/t0/a1"}));
  EXPECT_EQ(names_of(desired(story.state(), b)),
            (std::vector<std::string>{"job1/s0/t4/a1", "job1/s1/t0/a1"}));
  EXPECT_EQ(desired(story.state(), a)[1].stopping, Status::kPaused);
  EXPECT_EQ(desired(story.state(), a)[0].stopping, std::nullopt);
  EXPECT_TRUE(desired(story.state(), NodeId("nowhere")).empty());
}

}  // namespace
}  // namespace runnel::brain
