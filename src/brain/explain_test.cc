#include "brain/explain.h"

#include <gtest/gtest.h>

#include "brain/testing/desk.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::Desk;
using testing::step;
using Verb = model::JobRequest::Verb;

void join(Desk& desk, const std::string& name, std::int64_t cpus,
          std::map<std::string, std::int64_t> accelerators) {
  model::NodeJoin input;
  input.node.id = NodeId(name);
  input.node.capacity = {cpus * 1000, Bytes::gibi(8), std::move(accelerators)};
  input.incarnation = Incarnation("1");
  desk.decide(input);
}

model::StepSpec wants(std::int64_t cpus, std::map<std::string, std::int64_t> accelerators = {}) {
  model::StepSpec spec = step("train");
  spec.resources = {cpus * 1000, Bytes(), std::move(accelerators)};
  return spec;
}

model::StepSpec gang_of(std::int32_t num_nodes, std::int64_t cpus) {
  model::StepSpec spec = wants(cpus);
  spec.num_nodes = num_nodes;
  return spec;
}

std::vector<Wait> waits_of(const Desk& desk, const JobId& job) {
  return MUST(desk.brain.explain(job, desk.now));
}

// The only wait of a one-step job.
Wait wait_of(const Desk& desk, const JobId& job) {
  const std::vector<Wait> waits = waits_of(desk, job);
  EXPECT_EQ(waits.size(), 1u);
  return waits.empty() ? Wait{} : waits.front();
}

void expect(const Wait& wait, const std::string& reason, const std::string& message,
            const std::string& remedy, const std::vector<JobId>& blockers = {}) {
  EXPECT_EQ(wait.reason, reason);
  EXPECT_EQ(wait.message, message);
  EXPECT_EQ(wait.remedy, remedy);
  EXPECT_EQ(wait.blockers, blockers);
}

// ---- the step is not meant to run yet
// ----------------------------------------------------------------

TEST(Explain, ADependencyThatHasNotFinished) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("prepare", 10), step("report", 1), step("train", 1, {0, 1})});
  const std::vector<Wait> waits = waits_of(desk, job);
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[2].step, StepIndex(2));
  expect(waits[2], "Dependency",
         "starts when step 'prepare' (10 of 10 tasks left, 2 running) and 'report' (1 of 1 task "
         "left, 0 running) has succeeded",
         "");
}

TEST(Explain, ADependencyThatCannotSucceedAnyMore) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("sweep", 10), step("report", 1, {0})});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  const std::vector<Wait> waits = waits_of(desk, job);
  ASSERT_EQ(waits.size(), 2u);
  expect(waits[1], "DependencyNeverSatisfied",
         "will be skipped when step 'sweep' has ended, of which 1 task failed",
         "runnel cancel job1 ends the rest of it now");
}

TEST(Explain, AHaltedJob) {
  Desk desk;
  const JobId job = desk.submit({step("train", 3)});
  desk.request(job, Verb::kHalt);
  expect(wait_of(desk, job), "JobHeldUser", "the job is halted with 3 tasks of this step left",
         "runnel resume job1");
  desk.join("a", 1);
  desk.request(job, Verb::kResume);
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ASearchWhoseOtherTrialsArePausedIsNotHalted) {
  Desk desk;
  model::StepSpec spec = step("search", 2);
  spec.samples.reset();
  spec.params = {{.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  spec.search.emplace();
  spec.search->method = model::SearchSpec::Method::kRandom;
  spec.search->objectives = {{"loss", false}};
  spec.search->max_trials = 2;
  spec.search->pruner = model::PrunerSpec{.eta = 2};
  spec.checkpoint = model::CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  desk.join("a", 2);
  const JobId job = desk.submit({spec});
  for (const std::int64_t trial : {0, 1}) {
    const model::MetricReport report{
        Desk::ref(job, 0, trial), 1, {{"loss", trial == 0 ? "1" : "5"}}, false};
    desk.decide(model::NodeReport{NodeId("a"), Incarnation("1"), {}, {report}});
  }
  desk.ended("a", Desk::ref(job, 0, 1), 143, 0, model::EndCause::kStopped);
  ASSERT_EQ(desk.task_status(job, 0, 1), Status::kPaused);
  expect(
      wait_of(desk, job), "Running",
      "nothing waits: 1 task started, 1 asked to end, within a grace of 30.0 s; 1 trial paused by "
      "the pruner, of which the best go on",
      "");
  desk.request(job, Verb::kHalt);
  expect(wait_of(desk, job), "JobHeldUser",
         "the job is halted with 1 task of this step left and 1 still ending",
         "runnel resume job1");
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, model::EndCause::kStopped);
  expect(wait_of(desk, job), "JobHeldUser", "the job is halted with 2 tasks of this step left",
         "runnel resume job1");
}

TEST(Explain, ABackOffThatIsNotOver) {
  Desk desk;
  desk.join("a", 2);
  model::StepSpec spec = step("train");
  spec.retry.max = 3;
  spec.retry.backoff_min = spec.retry.backoff_max = Duration::minutes(4);
  const JobId job = desk.submit({spec});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.pass(Duration::seconds(30));
  expect(wait_of(desk, job), "BeginTime",
         "task 0 tries again at 1970-01-01T00:20:40.000Z, in 3 min 30 s, after attempt 1 "
         "(NonZeroExit)",
         "a shorter retry.backoff would start it sooner");
}

TEST(Explain, TheParallelCap) {
  Desk desk;
  desk.join("a", 8);
  model::StepSpec spec = step("sweep", 10);
  spec.parallel = 2;
  const JobId job = desk.submit({spec});
  expect(wait_of(desk, job), "JobArrayTaskLimit", "8 tasks wait: parallel is 2, and that many run",
         "to run more at once, write parallel: 3");
}

// ---- the cluster cannot hold it
// ------------------------------------------------------------------------

TEST(Explain, NoNodeAtAll) {
  Desk desk;
  const JobId job = desk.submit({wants(2)});
  expect(wait_of(desk, job), "ReqNodeNotAvail",
         "needs a node with 2 cpus, and no node has joined yet",
         "the daemon, which any command starts, brings this machine, or the nodes of nodes.yaml in "
         "the home's folder (`runnel home` names it); what keeps them away: runnel nodes");
}

TEST(Explain, MoreThanTheLargestNodeAlthoughTheClusterHasItInSum) {
  Desk desk;
  const JobId job = desk.submit({wants(1, {{"H100", 4}})});
  join(desk, "a", 8, {{"H100", 2}});
  join(desk, "b", 8, {{"H100", 2}});
  expect(wait_of(desk, job), "Resources",
         "needs a node with 1 cpu, 4 H100, and the largest node has 2 H100 and all together 4",
         "spread it: num_nodes: 2 with 2 H100 each");
  model::StepSpec spread = wants(1, {{"H100", 2}});
  spread.num_nodes = 2;
  EXPECT_EQ(desk.job_status(desk.submit({spread})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, MoreThanAnyNodeHas) {
  Desk desk;
  const JobId cpus = desk.submit({wants(16)});
  const JobId devices = desk.submit({wants(1, {{"H100", 4}})});
  model::StepSpec much = wants(1);
  much.resources.memory = Bytes::gibi(64);
  const JobId memory = desk.submit({much});
  join(desk, "a", 8, {{"H100", 2}});
  desk.join("b", 4);
  expect(wait_of(desk, cpus), "Resources",
         "needs a node with 16 cpus, and the largest node has 8 cpus", "ask for 8 cpus");
  expect(wait_of(desk, devices), "Resources",
         "needs a node with 1 cpu, 4 H100, and the largest node has 2 H100", "ask for 2 H100");
  expect(wait_of(desk, memory), "Resources",
         "needs a node with 1 cpu, 64.0 GiB, and the largest node has 8.0 GiB", "ask for 8.0 GiB");
}

TEST(Explain, EachAmountOnSomeNodeButNotTogether) {
  Desk desk;
  const JobId job = desk.submit({wants(8, {{"H100", 1}})});
  join(desk, "a", 2, {{"H100", 1}});
  desk.join("b", 16);
  expect(wait_of(desk, job), "Resources",
         "needs a node with 8 cpus, 1 H100, and no node has all of that together",
         "ask for less of one of them");
}

TEST(Explain, AcceleratorsThatNoNodeHas) {
  Desk desk;
  const JobId job = desk.submit({wants(1, {{"H100", 1}})});
  desk.join("a", 8);
  expect(wait_of(desk, job), "Resources",
         "needs a node with 1 cpu, 1 H100, and no node has any H100",
         "leave accelerators out, or add a node that has H100");
  join(desk, "b", 8, {{"A100", 2}});
  EXPECT_EQ(wait_of(desk, job).remedy, "ask for A100, or add a node that has H100");
}

TEST(Explain, AGangThatFitsOnlyIfNodesAreShared) {
  Desk desk;
  const JobId job = desk.submit({gang_of(3, 1)});
  desk.join("a", 4);
  desk.join("b", 4);
  expect(wait_of(desk, job), "GangIncomplete",
         "needs 3 nodes at once with 1 cpu each, and the cluster has room for 2 of them as long as "
         "nodes hold one place each",
         "colocate: true in nodes.yaml in the home's folder, so that places share a node, or "
         "num_nodes: 2");
  EXPECT_EQ(desk.job_status(desk.submit({gang_of(2, 1)})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, AGangLargerThanTheCluster) {
  Desk desk;
  const JobId job = desk.submit({gang_of(3, 4)});
  desk.join("a", 4);
  desk.join("b", 4);
  expect(wait_of(desk, job), "GangIncomplete",
         "needs 3 nodes at once with 4 cpus each, and the cluster has room for 2 of them",
         "num_nodes: 2");
}

TEST(Explain, ANodeThatIsDown) {
  Desk desk;
  desk.join("a", 2);
  desk.join("b", 8);
  desk.lose("b");
  const JobId job = desk.submit({wants(4)});
  expect(wait_of(desk, job), "ReqNodeNotAvail",
         "needs a node with 4 cpus; no node that is up has that, and down is 'b' (HeartbeatLost)",
         "bring 'b' back");
  desk.join("b", 8, "2");
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "the remedy helps";
}

// Nobody can bring it back.
TEST(Explain, ANodeThatWasPreempted) {
  Desk desk;
  desk.join("a", 2);
  desk.join("b", 8);
  desk.lose("b", "1", std::string(model::kPreemptedReason));
  const JobId job = desk.submit({wants(4)});
  expect(wait_of(desk, job), "ReqNodeNotAvail",
         "needs a node with 4 cpus; no node that is up has that, and down is 'b' (Preempted)",
         "wait: a node that was preempted comes back by itself");
}

TEST(Explain, AGangThatMissesNodesThatAreDown) {
  Desk desk;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) desk.join(name, 2);
  for (const char* name : {"b", "c", "d", "e", "f"}) desk.lose(name);
  const JobId job = desk.submit({gang_of(2, 2)});
  expect(wait_of(desk, job), "ReqNodeNotAvail",
         "needs 2 nodes at once with 2 cpus each; those that are up hold 1 of them, and down are "
         "'b' (HeartbeatLost), 'c' (HeartbeatLost), 'd' (HeartbeatLost) and 2 more",
         "bring 'b', 'c', 'd' back");
}

// ---- others come first
// ---------------------------------------------------------------------------------

TEST(Explain, AJobOfHigherPriority) {
  Desk desk;
  desk.join("a", 4);
  desk.submit({wants(3)});
  const JobId urgent = desk.submit({wants(2)}, 5);
  const JobId job = desk.submit({wants(2)});
  const Wait wait = wait_of(desk, job);
  expect(wait, "Priority",
         "needs a node with 2 cpus; 1 step that wants the same nodes stands before it: step "
         "'train' of job2 (priority 5 over 0)",
         "priority: 6 would put it first", {urgent});
  EXPECT_EQ(wait.position, 2);
  EXPECT_EQ(wait_of(desk, urgent).position, 1);
  EXPECT_EQ(wait_of(desk, urgent).reason, "Resources");
}

TEST(Explain, OlderJobsOfTheSamePriority) {
  Desk desk;
  desk.join("a", 4);
  desk.submit({wants(3)});
  const JobId second = desk.submit({wants(2)});
  const JobId third = desk.submit({wants(2)});
  const Wait wait = wait_of(desk, desk.submit({wants(4)}));
  expect(wait, "Priority",
         "needs a node with 4 cpus; 2 steps that want the same nodes stand before it, first step "
         "'train' of job2 (the older job at the same priority 0)",
         "priority: 1 would put it first", {second, third});
  EXPECT_EQ(wait.position, 3);
}

TEST(Explain, AnEarlierStepOfTheSameJob) {
  Desk desk;
  desk.join("a", 4);
  desk.submit({wants(3)});
  const JobId job = desk.submit({wants(2), wants(2)});
  const std::vector<Wait> waits = waits_of(desk, job);
  ASSERT_EQ(waits.size(), 2u);
  expect(waits[1], "Priority",
         "needs a node with 2 cpus; 1 step that wants the same nodes stands before it: step "
         "'train' of job2 (an earlier step of this job)",
         "", {job});
}

TEST(Explain, RoomThatIsKeptForAnOlderJob) {
  Desk desk;
  desk.join("a", 4);
  desk.submit({wants(3)});
  const JobId large = desk.submit({wants(4)});
  desk.pass(Duration::seconds(61));
  desk.wake();
  const JobId small = desk.submit({wants(1)});
  expect(wait_of(desk, small), "Priority",
         "needs a node with 1 cpu; there is room, and it is kept for step 'train' of job2 (the "
         "older job at the same priority 0)",
         "priority: 1 would start it now", {large});
  EXPECT_EQ(desk.job_status(desk.submit({wants(1)}, 1)), Status::kRunning) << "the remedy helps";
}

TEST(Explain, StepsBeforeItOnOtherNodesAreNotInItsWay) {
  Desk desk;
  join(desk, "a", 4, {{"H100", 1}});
  join(desk, "b", 4, {{"L4", 1}});
  desk.submit({wants(1, {{"H100", 1}})});
  const JobId holder = desk.submit({wants(1, {{"L4", 1}})});
  desk.submit({wants(1, {{"H100", 1}})}, 9);
  const Wait wait = wait_of(desk, desk.submit({wants(1, {{"L4", 1}})}));
  EXPECT_EQ(wait.reason, "Resources");
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
  EXPECT_EQ(wait.position, 2) << "the place in the queue counts all";
}

// ---- what it needs is in use
// -----------------------------------------------------------------------------

TEST(Explain, ANodeThatOthersUseUntilAKnownTime) {
  Desk desk;
  desk.join("a", 4);
  model::StepSpec limited = wants(3);
  limited.max_duration = Duration::minutes(5);
  const JobId holder = desk.submit({limited});
  const JobId job = desk.submit({wants(2)});
  desk.pass(Duration::seconds(10));
  const Wait wait = wait_of(desk, job);
  expect(wait, "Resources",
         "needs a node with 2 cpus; 'a' comes closest and lacks 1 cpu: job1 holds 3 cpus; there is "
         "room by 1970-01-01T00:22:10.000Z at the latest (in 5 min 20 s)",
         "ask for 1 cpu and it starts now", {holder});
  EXPECT_EQ(wait.position, 1);
  EXPECT_EQ(desk.job_status(desk.submit({wants(1)})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ANodeThatOthersUseNobodyKnowsHowLong) {
  Desk desk;
  desk.join("a", 4);
  const JobId first = desk.submit({wants(1)});
  const JobId second = desk.submit({wants(3)});
  const JobId job = desk.submit({wants(2)});
  expect(wait_of(desk, job), "Resources",
         "needs a node with 2 cpus; 'a' comes closest and lacks 2 cpus: job1 holds 1 cpu, job2 "
         "holds 3 cpus; when that ends is not known, since max_duration is not set",
         "runnel halt job2 would make room", {first, second});
  desk.request(second, Verb::kHalt);
  desk.ended("a", Desk::ref(second, 0, 0), 0, 0, model::EndCause::kStopped);
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ASpotNodeThatHasRoomBesideABusyOne) {
  Desk desk;
  desk.join("a", 2);
  model::NodeJoin spot;
  spot.node = desk.brain.state().nodes.at(NodeId("a")).info;
  spot.node.id = NodeId("s");
  spot.node.spot = true;
  spot.incarnation = Incarnation("1");
  desk.decide(spot);
  desk.submit({wants(2)});
  const Wait wait = wait_of(desk, desk.submit({wants(2)}));
  EXPECT_EQ(wait.reason, "Resources");
  EXPECT_EQ(wait.remedy,
            "resources: {spot: true}, if it can bear to be moved: a spot node has room now");
}

TEST(Explain, AJobIsNotToBeHaltedForItself) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("sweep", 9)});
  expect(
      wait_of(desk, job), "Resources",
      "its own tasks that run hold 2 cpus of 'a', and nobody else holds any: the next begins when "
      "one of them ends; when that ends is not known, since max_duration is not set",
      "", {});
}

TEST(Explain, OneEndMakesNoRoomOnANodeThatShrank) {
  Desk desk;
  desk.join("a", 3);
  const JobId job = desk.submit({step("sweep", 4)});
  model::NodeJoin smaller{desk.brain.state().nodes.at(NodeId("a")).info, Incarnation("1"), {}};
  smaller.node.capacity.milli_cpus = 1000;
  for (int task = 0; task < 3; ++task) {
    model::RankReport still;
    still.attempt = Desk::ref(job, 0, task);
    still.started_at = desk.now;
    smaller.ranks.push_back(still);
  }
  desk.decide(smaller);
  const std::string message = wait_of(desk, job).message;
  EXPECT_TRUE(
      message.starts_with("needs a node with 1 cpu; 'a' comes closest and lacks 1 cpu: this "
                          "job itself holds 3 cpus"))
      << message;
}

TEST(Explain, ManyHoldersAreCounted) {
  Desk desk;
  desk.join("a", 6);
  for (int i = 0; i < 6; ++i) desk.submit({wants(1)});
  const Wait wait = wait_of(desk, desk.submit({wants(2)}));
  EXPECT_EQ(wait.message,
            "needs a node with 2 cpus; 'a' comes closest and lacks 2 cpus: job1 holds 1 cpu, job2 "
            "holds 1 cpu, job3 holds 1 cpu and 3 more jobs; when that ends is not known, since "
            "max_duration is not set");
  EXPECT_EQ(wait.blockers.size(), 6u);
  EXPECT_EQ(wait.remedy, "") << "no single job is in the way";
}

TEST(Explain, WhoHoldsNothingOfWhatLacksIsNotNamed) {
  Desk desk;
  join(desk, "gpu", 16, {{"H100", 2}});
  desk.submit({wants(1)});
  const JobId holder = desk.submit({wants(1, {{"H100", 2}})});
  const Wait wait = wait_of(desk, desk.submit({wants(1, {{"H100", 1}})}));
  EXPECT_NE(wait.message.find("lacks 1 H100 (0 of 2 H100 free): job2 holds 2 H100;"),
            std::string::npos)
      << wait.message;
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
}

TEST(Explain, AWholeNodeThatIsNotEmpty) {
  Desk desk;
  desk.join("a", 4);
  const JobId holder = desk.submit({wants(1)});
  model::StepSpec whole = wants(0);
  whole.whole_node = true;
  const JobId job = desk.submit({whole});
  expect(wait_of(desk, job), "Resources",
         "needs a node with all its cpus; 'a' comes closest and lacks 1 cpu: job1 holds 1 cpu; "
         "when that ends is not known, since max_duration is not set",
         "ask for 3 cpus and it starts now", {holder});
}

TEST(Explain, AGangForWhichOnlySomeNodesAreFree) {
  Desk desk;
  desk.join("a", 2);
  desk.join("b", 2);
  const JobId holder = desk.submit({wants(2)});
  const JobId job = desk.submit({gang_of(2, 2)});
  expect(wait_of(desk, job), "GangIncomplete",
         "needs 2 nodes at once with 2 cpus each, all or none; there is room for 1 now: job1 holds "
         "2 cpus; when that ends is not known, since max_duration is not set",
         "num_nodes: 1 would start now", {holder});
  EXPECT_EQ(desk.job_status(desk.submit({gang_of(1, 2)})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, AGangForWhichNoNodeIsFree) {
  Desk desk;
  desk.join("a", 2);
  desk.join("b", 2);
  const JobId holder = desk.submit({gang_of(2, 1)});
  const JobId job = desk.submit({gang_of(2, 2)});
  const Wait wait = wait_of(desk, job);
  EXPECT_EQ(wait.reason, "GangIncomplete");
  EXPECT_EQ(wait.remedy, "runnel halt job1 would make room");
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
}

TEST(Explain, DevicesThatOthersHold) {
  Desk desk;
  join(desk, "gpu", 16, {{"H100", 8}});
  const JobId holder = desk.submit({wants(1, {{"H100", 6}})});
  const JobId other = desk.submit({wants(1, {{"H100", 1}})});
  const JobId job = desk.submit({wants(1, {{"H100", 2}})});
  expect(wait_of(desk, job), "Resources",
         "needs a node with 1 cpu, 2 H100; 'gpu' comes closest and lacks 1 H100 (1 of 8 H100 "
         "free): job1 holds 6 H100, job2 holds 1 H100; when that ends is not known, since "
         "max_duration is not set",
         "ask for 1 H100 and it starts now", {holder, other});
  model::StepSpec gang = wants(1, {{"H100", 2}});
  gang.num_nodes = 2;
  join(desk, "more", 16, {{"H100", 2}});
  const std::string told = wait_of(desk, desk.submit({gang})).message;
  EXPECT_NE(told.find("now (1 of 10 H100 free): job1 holds 1 cpu, 6 H100"), std::string::npos)
      << told;
}

TEST(Explain, DevicesThatALostAttemptMayStillHave) {
  Desk desk;
  desk.devices = 2;
  desk.join("gpu", 8);
  const JobId lost = desk.submit({wants(1, {{"H100", 1}})});
  desk.running("gpu", Desk::ref(lost, 0, 0));
  desk.lose("gpu");
  desk.request(lost, Verb::kCancel);
  model::RankReport stranger;
  stranger.attempt = Desk::ref(lost, 0, 0);
  stranger.started_at = desk.now;
  desk.rejoin("gpu", "1", {stranger});
  const JobId job = desk.submit({wants(1, {{"H100", 1}})});
  expect(wait_of(desk, job), "Resources",
         "needs a node with 1 cpu, 1 H100; 'gpu' grants no devices (0 of 2 H100 free) until "
         "processes of job1, which may have any of them since the node was lost, have ended",
         "", {lost});
  desk.ended("gpu", Desk::ref(lost, 0, 0));
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "it was only that";
}

// ---- nothing to explain
// ----------------------------------------------------------------------------------

TEST(Explain, AStepOfWhichNothingWaits) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("two", 2)});
  expect(wait_of(desk, job), "Running", "nothing waits: 2 tasks started", "");
  desk.request(job, Verb::kCancel);
  expect(wait_of(desk, job), "Running",
         "nothing waits: 2 tasks started, 2 asked to end, within a grace of 30.0 s", "");
}

TEST(Explain, AnEndedJobWaitsForNothing) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("one")});
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_TRUE(waits_of(desk, job).empty());
}

TEST(Explain, AnUnknownJobIsNotFound) {
  Desk desk;
  const auto waits = desk.brain.explain(JobId("nobody"), desk.now);
  ASSERT_FALSE(waits.ok());
  EXPECT_EQ(waits.error().code, Errc::kNotFound);
  EXPECT_EQ(waits.error().value, "nobody");
  EXPECT_FALSE(waits.error().hint.empty());
}

}  // namespace
}  // namespace runnel::brain
