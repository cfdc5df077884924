#include "brain/explain.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;
using testing::step;
using Verb = model::JobRequest::Verb;

void join(BrainHarness& harness, const std::string& name, std::int64_t cpus,
          std::map<std::string, std::int64_t> accelerators) {
  model::NodeJoin input;
  input.node.id = NodeId(name);
  input.node.capacity = {cpus * 1000, Bytes::gibi(8), std::move(accelerators)};
  input.incarnation = Incarnation("1");
  harness.decide(input);
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

std::vector<Wait> waits_of(const BrainHarness& harness, const JobId& job) {
  return MUST(harness.brain.explain(job, harness.now));
}

// The only wait of a one-step job.
Wait wait_of(const BrainHarness& harness, const JobId& job) {
  const std::vector<Wait> waits = waits_of(harness, job);
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
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job =
      harness.submit({step("prepare", 10), step("report", 1), step("train", 1, {0, 1})});
  const std::vector<Wait> waits = waits_of(harness, job);
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[2].step, StepIndex(2));
  expect(waits[2], "Dependency",
         "starts when step 'prepare' (10 of 10 tasks left, 2 running) and 'report' (1 of 1 task "
         "left, 0 running) has succeeded",
         "");
}

TEST(Explain, ADependencyThatCannotSucceedAnyMore) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("sweep", 10), step("report", 1, {0})});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  const std::vector<Wait> waits = waits_of(harness, job);
  ASSERT_EQ(waits.size(), 2u);
  expect(waits[1], "DependencyNeverSatisfied",
         "will be skipped when step 'sweep' has ended, of which 1 task failed",
         "runnel cancel job1 ends the rest of it now");
}

TEST(Explain, AHaltedJob) {
  BrainHarness harness;
  const JobId job = harness.submit({step("train", 3)});
  harness.request(job, Verb::kHalt);
  expect(wait_of(harness, job), "JobHeldUser", "the job is halted with 3 tasks of this step left",
         "runnel resume job1");
  harness.join("a", 1);
  harness.request(job, Verb::kResume);
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ASearchWhoseOtherTrialsArePausedIsNotHalted) {
  BrainHarness harness;
  model::StepSpec spec = step("search", 2);
  spec.samples.reset();
  spec.params = {{.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  spec.search.emplace();
  spec.search->method = model::SearchSpec::Method::kRandom;
  spec.search->objectives = {{"loss", false}};
  spec.search->max_trials = 2;
  spec.search->pruner = model::PrunerSpec{.eta = 2};
  spec.checkpoint = model::CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  harness.join("a", 2);
  const JobId job = harness.submit({spec});
  for (const std::int64_t trial : {0, 1}) {
    const model::MetricReport report{
        BrainHarness::ref(job, 0, trial), 1, {{"loss", trial == 0 ? "1" : "5"}}, false};
    harness.decide(model::NodeReport{NodeId("a"), Incarnation("1"), {}, {report}});
  }
  harness.ended("a", BrainHarness::ref(job, 0, 1), 143, 0, model::EndCause::kStopped);
  ASSERT_EQ(harness.task_status(job, 0, 1), Status::kPaused);
  expect(
      wait_of(harness, job), "Running",
      "nothing waits: 1 task started, 1 asked to end, within a grace of 30.0 s; 1 trial paused by "
      "the pruner, of which the best go on",
      "");
  harness.request(job, Verb::kHalt);
  expect(wait_of(harness, job), "JobHeldUser",
         "the job is halted with 1 task of this step left and 1 still ending",
         "runnel resume job1");
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, model::EndCause::kStopped);
  expect(wait_of(harness, job), "JobHeldUser", "the job is halted with 2 tasks of this step left",
         "runnel resume job1");
}

TEST(Explain, ABackOffThatIsNotOver) {
  BrainHarness harness;
  harness.join("a", 2);
  model::StepSpec spec = step("train");
  spec.retry.max = 3;
  spec.retry.backoff_min = spec.retry.backoff_max = Duration::minutes(4);
  const JobId job = harness.submit({spec});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.pass(Duration::seconds(30));
  expect(wait_of(harness, job), "BeginTime",
         "task 0 tries again at 1970-01-01T00:20:40.000Z, in 3 min 30 s, after attempt 1 "
         "(NonZeroExit)",
         "a shorter retry.backoff would start it sooner");
}

TEST(Explain, ATaskThatCannotStartSaysWhy) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("train")});
  for (int attempt = 1; attempt <= 2; ++attempt) {  // After the first it is tried again at once.
    model::RankReport report =
        BrainHarness::end_of(BrainHarness::ref(job, 0, 0, attempt), 0, harness.now);
    report.cause = model::EndCause::kNotStarted;
    report.message = "the volume data cannot be read";
    harness.report("a", report);
  }
  const std::string message = wait_of(harness, job).message;
  EXPECT_NE(message.find("after attempt 2 (StartFailed): the volume data cannot be read"),
            std::string::npos)
      << message;
}

TEST(Explain, TheParallelCap) {
  BrainHarness harness;
  harness.join("a", 8);
  model::StepSpec spec = step("sweep", 10);
  spec.parallel = 2;
  const JobId job = harness.submit({spec});
  expect(wait_of(harness, job), "JobArrayTaskLimit",
         "8 tasks wait: parallel is 2, and that many run",
         "to run more at once, write parallel: 3");
}

// ---- the cluster cannot hold it
// ------------------------------------------------------------------------

TEST(Explain, NoNodeAtAll) {
  BrainHarness harness;
  const JobId job = harness.submit({wants(2)});
  expect(wait_of(harness, job), "ReqNodeNotAvail",
         "needs a node with 2 cpus, and no node has joined yet",
         "the daemon, which any command starts, brings this machine, or the nodes of nodes.yaml in "
         "the home's folder (`runnel home` names it); what keeps them away: runnel nodes");
}

TEST(Explain, MoreThanTheLargestNodeAlthoughTheClusterHasItInSum) {
  BrainHarness harness;
  const JobId job = harness.submit({wants(1, {{"H100", 4}})});
  join(harness, "a", 8, {{"H100", 2}});
  join(harness, "b", 8, {{"H100", 2}});
  expect(wait_of(harness, job), "Resources",
         "needs a node with 1 cpu, 4 H100, and the largest node has 2 H100 and all together 4",
         "spread it: num_nodes: 2 with 2 H100 each");
  model::StepSpec spread = wants(1, {{"H100", 2}});
  spread.num_nodes = 2;
  EXPECT_EQ(harness.job_status(harness.submit({spread})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, MoreThanAnyNodeHas) {
  BrainHarness harness;
  const JobId cpus = harness.submit({wants(16)});
  const JobId devices = harness.submit({wants(1, {{"H100", 4}})});
  model::StepSpec much = wants(1);
  much.resources.memory = Bytes::gibi(64);
  const JobId memory = harness.submit({much});
  join(harness, "a", 8, {{"H100", 2}});
  harness.join("b", 4);
  expect(wait_of(harness, cpus), "Resources",
         "needs a node with 16 cpus, and the largest node has 8 cpus", "ask for 8 cpus");
  expect(wait_of(harness, devices), "Resources",
         "needs a node with 1 cpu, 4 H100, and the largest node has 2 H100", "ask for 2 H100");
  expect(wait_of(harness, memory), "Resources",
         "needs a node with 1 cpu, 64.0 GiB, and the largest node has 8.0 GiB", "ask for 8.0 GiB");
}

TEST(Explain, EachAmountOnSomeNodeButNotTogether) {
  BrainHarness harness;
  const JobId job = harness.submit({wants(8, {{"H100", 1}})});
  join(harness, "a", 2, {{"H100", 1}});
  harness.join("b", 16);
  expect(wait_of(harness, job), "Resources",
         "needs a node with 8 cpus, 1 H100, and no node has all of that together",
         "ask for less of one of them");
}

TEST(Explain, AcceleratorsThatNoNodeHas) {
  BrainHarness harness;
  const JobId job = harness.submit({wants(1, {{"H100", 1}})});
  harness.join("a", 8);
  expect(wait_of(harness, job), "Resources",
         "needs a node with 1 cpu, 1 H100, and no node has any H100",
         "leave accelerators out, or add a node that has H100");
  join(harness, "b", 8, {{"A100", 2}});
  EXPECT_EQ(wait_of(harness, job).remedy, "ask for A100, or add a node that has H100");
}

TEST(Explain, AGangThatFitsOnlyIfNodesAreShared) {
  BrainHarness harness;
  const JobId job = harness.submit({gang_of(3, 1)});
  harness.join("a", 4);
  harness.join("b", 4);
  expect(wait_of(harness, job), "GangIncomplete",
         "needs 3 nodes at once with 1 cpu each, and the cluster has room for 2 of them as long as "
         "nodes hold one place each",
         "colocate: true in nodes.yaml in the home's folder, so that places share a node, or "
         "num_nodes: 2");
  EXPECT_EQ(harness.job_status(harness.submit({gang_of(2, 1)})), Status::kRunning)
      << "the remedy helps";
}

TEST(Explain, AGangLargerThanTheCluster) {
  BrainHarness harness;
  const JobId job = harness.submit({gang_of(3, 4)});
  harness.join("a", 4);
  harness.join("b", 4);
  expect(wait_of(harness, job), "GangIncomplete",
         "needs 3 nodes at once with 4 cpus each, and the cluster has room for 2 of them",
         "num_nodes: 2");
}

TEST(Explain, ANodeThatIsDown) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 8);
  harness.lose("b");
  const JobId job = harness.submit({wants(4)});
  expect(wait_of(harness, job), "ReqNodeNotAvail",
         "needs a node with 4 cpus; no node that is up has that, and down is 'b' (HeartbeatLost)",
         "bring 'b' back");
  harness.join("b", 8, "2");
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "the remedy helps";
}

// Nobody can bring it back.
TEST(Explain, ANodeThatWasPreempted) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 8);
  harness.lose("b", "1", std::string(model::kPreemptedReason));
  const JobId job = harness.submit({wants(4)});
  expect(wait_of(harness, job), "ReqNodeNotAvail",
         "needs a node with 4 cpus; no node that is up has that, and down is 'b' (Preempted)",
         "wait: a node that was preempted comes back by itself");
}

TEST(Explain, ANodeThatHasLeftIsNoneOfThem) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 8);
  const JobId job = harness.submit({wants(8)});
  ASSERT_EQ(harness.job_status(job), Status::kRunning);
  harness.lose("b", "1", std::string(model::kPreemptedReason));
  EXPECT_EQ(wait_of(harness, harness.submit({wants(4)})).reason, "ReqNodeNotAvail");
  harness.lose("b", "1", std::string(model::kLeftReason));
  EXPECT_EQ(harness.brain.state().nodes.at(NodeId("b")).reason, "Left") << "it was down already";
  for (const Wait& wait : waits_of(harness, job)) {
    EXPECT_EQ(wait.message.find("'b'"), std::string::npos) << wait.message;
  }
  harness.submit({wants(4)});
  ASSERT_TRUE(harness.last_refusal.has_value());
  EXPECT_NE(harness.last_refusal->message.find("1 node(s) can never give that"), std::string::npos)
      << harness.last_refusal->message;
}

TEST(Explain, ANodeThatDrains) {
  BrainHarness harness;
  harness.join("a", 2);
  model::NodeJoin drained;
  drained.node.id = NodeId("b");
  drained.node.capacity = {8000, Bytes::gibi(8), {}};
  drained.node.draining = true;
  drained.incarnation = Incarnation("1");
  harness.decide(drained);
  expect(wait_of(harness, harness.submit({wants(4)})), "ReqNodeNotAvail",
         "needs a node with 4 cpus; no node that takes work has that, and draining is 'b'",
         "name 'b' in nodes.yaml again");
}

TEST(Explain, DevicesThatAreWithheld) {
  BrainHarness harness;
  model::NodeJoin withholding;
  withholding.node.id = NodeId("a");
  withholding.node.capacity = {4000, Bytes::gibi(8), {{"H100", 2}}};
  withholding.node.withholds_devices = true;
  withholding.incarnation = Incarnation("1");
  harness.decide(withholding);
  const JobId job = harness.submit({wants(1, {{"H100", 1}})});
  EXPECT_EQ(harness.job_status(harness.submit({wants(1)})), Status::kRunning);
  const Wait wait = wait_of(harness, job);
  EXPECT_NE(wait.message.find("'a' grants no devices"), std::string::npos) << wait.message;
  EXPECT_NE(wait.message.find("before nodes.yaml was changed"), std::string::npos) << wait.message;
  withholding.node.withholds_devices = false;
  harness.decide(withholding);
  EXPECT_EQ(harness.job_status(job), Status::kRunning);
}

TEST(Explain, AGangThatMissesNodesThatAreDown) {
  BrainHarness harness;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) harness.join(name, 2);
  for (const char* name : {"b", "c", "d", "e", "f"}) harness.lose(name);
  const JobId job = harness.submit({gang_of(2, 2)});
  expect(wait_of(harness, job), "ReqNodeNotAvail",
         "needs 2 nodes at once with 2 cpus each; those that are up hold 1 of them, and down are "
         "'b' (HeartbeatLost), 'c' (HeartbeatLost), 'd' (HeartbeatLost) and 2 more",
         "bring 'b', 'c', 'd' back");
}

// ---- others come first
// ---------------------------------------------------------------------------------

TEST(Explain, AJobOfHigherPriority) {
  BrainHarness harness;
  harness.join("a", 4);
  harness.submit({wants(3)});
  const JobId urgent = harness.submit({wants(2)}, 5);
  const JobId job = harness.submit({wants(2)});
  const Wait wait = wait_of(harness, job);
  expect(wait, "Priority",
         "needs a node with 2 cpus; 1 step that wants the same nodes stands before it: step "
         "'train' of job2 (priority 5 over 0)",
         "priority: 6 would put it first", {urgent});
  EXPECT_EQ(wait.position, 2);
  EXPECT_EQ(wait_of(harness, urgent).position, 1);
  EXPECT_EQ(wait_of(harness, urgent).reason, "Resources");
}

TEST(Explain, OlderJobsOfTheSamePriority) {
  BrainHarness harness;
  harness.join("a", 4);
  harness.submit({wants(3)});
  const JobId second = harness.submit({wants(2)});
  const JobId third = harness.submit({wants(2)});
  const Wait wait = wait_of(harness, harness.submit({wants(4)}));
  expect(wait, "Priority",
         "needs a node with 4 cpus; 2 steps that want the same nodes stand before it, first step "
         "'train' of job2 (the older job at the same priority 0)",
         "priority: 1 would put it first", {second, third});
  EXPECT_EQ(wait.position, 3);
}

TEST(Explain, AnEarlierStepOfTheSameJob) {
  BrainHarness harness;
  harness.join("a", 4);
  harness.submit({wants(3)});
  const JobId job = harness.submit({wants(2), wants(2)});
  const std::vector<Wait> waits = waits_of(harness, job);
  ASSERT_EQ(waits.size(), 2u);
  expect(waits[1], "Priority",
         "needs a node with 2 cpus; 1 step that wants the same nodes stands before it: step "
         "'train' of job2 (an earlier step of this job)",
         "", {job});
}

TEST(Explain, RoomThatIsKeptForAnOlderJob) {
  BrainHarness harness;
  harness.join("a", 4);
  harness.submit({wants(3)});
  const JobId large = harness.submit({wants(4)});
  harness.pass(Duration::seconds(61));
  harness.wake();
  const JobId small = harness.submit({wants(1)});
  expect(wait_of(harness, small), "Priority",
         "needs a node with 1 cpu; there is room, and it is kept for step 'train' of job2 (the "
         "older job at the same priority 0)",
         "priority: 1 would start it now", {large});
  EXPECT_EQ(harness.job_status(harness.submit({wants(1)}, 1)), Status::kRunning)
      << "the remedy helps";
}

TEST(Explain, StepsBeforeItOnOtherNodesAreNotInItsWay) {
  BrainHarness harness;
  join(harness, "a", 4, {{"H100", 1}});
  join(harness, "b", 4, {{"L4", 1}});
  harness.submit({wants(1, {{"H100", 1}})});
  const JobId holder = harness.submit({wants(1, {{"L4", 1}})});
  harness.submit({wants(1, {{"H100", 1}})}, 9);
  const Wait wait = wait_of(harness, harness.submit({wants(1, {{"L4", 1}})}));
  EXPECT_EQ(wait.reason, "Resources");
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
  EXPECT_EQ(wait.position, 2) << "the place in the queue counts all";
}

// ---- what it needs is in use
// -----------------------------------------------------------------------------

TEST(Explain, ANodeThatOthersUseUntilAKnownTime) {
  BrainHarness harness;
  harness.join("a", 4);
  model::StepSpec limited = wants(3);
  limited.max_duration = Duration::minutes(5);
  const JobId holder = harness.submit({limited});
  const JobId job = harness.submit({wants(2)});
  harness.pass(Duration::seconds(10));
  const Wait wait = wait_of(harness, job);
  expect(wait, "Resources",
         "needs a node with 2 cpus; 'a' comes closest and lacks 1 cpu: job1 holds 3 cpus; there is "
         "room by 1970-01-01T00:22:10.000Z at the latest (in 5 min 20 s)",
         "ask for 1 cpu and it starts now", {holder});
  EXPECT_EQ(wait.position, 1);
  EXPECT_EQ(harness.job_status(harness.submit({wants(1)})), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ANodeThatOthersUseNobodyKnowsHowLong) {
  BrainHarness harness;
  harness.join("a", 4);
  const JobId first = harness.submit({wants(1)});
  const JobId second = harness.submit({wants(3)});
  const JobId job = harness.submit({wants(2)});
  expect(wait_of(harness, job), "Resources",
         "needs a node with 2 cpus; 'a' comes closest and lacks 2 cpus: job1 holds 1 cpu, job2 "
         "holds 3 cpus; when that ends is not known, since max_duration is not set",
         "runnel halt job2 would make room", {first, second});
  harness.request(second, Verb::kHalt);
  harness.ended("a", BrainHarness::ref(second, 0, 0), 0, 0, model::EndCause::kStopped);
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "the remedy helps";
}

TEST(Explain, ASpotNodeThatHasRoomBesideABusyOne) {
  BrainHarness harness;
  harness.join("a", 2);
  model::NodeJoin spot;
  spot.node = harness.brain.state().nodes.at(NodeId("a")).info;
  spot.node.id = NodeId("s");
  spot.node.spot = true;
  spot.incarnation = Incarnation("1");
  harness.decide(spot);
  harness.submit({wants(2)});
  const Wait wait = wait_of(harness, harness.submit({wants(2)}));
  EXPECT_EQ(wait.reason, "Resources");
  EXPECT_EQ(wait.remedy,
            "resources: {spot: true}, if it can bear to be moved: a spot node has room now");
}

TEST(Explain, AJobIsNotToBeHaltedForItself) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("sweep", 9)});
  expect(
      wait_of(harness, job), "Resources",
      "its own tasks that run hold 2 cpus of 'a', and nobody else holds any: the next begins when "
      "one of them ends; when that ends is not known, since max_duration is not set",
      "", {});
}

TEST(Explain, OneEndMakesNoRoomOnANodeThatShrank) {
  BrainHarness harness;
  harness.join("a", 3);
  const JobId job = harness.submit({step("sweep", 4)});
  model::NodeJoin smaller{harness.brain.state().nodes.at(NodeId("a")).info, Incarnation("1"), {}};
  smaller.node.capacity.milli_cpus = 1000;
  for (int task = 0; task < 3; ++task) {
    model::RankReport still;
    still.attempt = BrainHarness::ref(job, 0, task);
    still.started_at = harness.now;
    smaller.ranks.push_back(still);
  }
  harness.decide(smaller);
  const std::string message = wait_of(harness, job).message;
  EXPECT_TRUE(
      message.starts_with("needs a node with 1 cpu; 'a' comes closest and lacks 1 cpu: this "
                          "job itself holds 3 cpus"))
      << message;
}

TEST(Explain, ManyHoldersAreCounted) {
  BrainHarness harness;
  harness.join("a", 6);
  for (int i = 0; i < 6; ++i) harness.submit({wants(1)});
  const Wait wait = wait_of(harness, harness.submit({wants(2)}));
  EXPECT_EQ(wait.message,
            "needs a node with 2 cpus; 'a' comes closest and lacks 2 cpus: job1 holds 1 cpu, job2 "
            "holds 1 cpu, job3 holds 1 cpu and 3 more jobs; when that ends is not known, since "
            "max_duration is not set");
  EXPECT_EQ(wait.blockers.size(), 6u);
  EXPECT_EQ(wait.remedy, "") << "no single job is in the way";
}

TEST(Explain, WhoHoldsNothingOfWhatLacksIsNotNamed) {
  BrainHarness harness;
  join(harness, "gpu", 16, {{"H100", 2}});
  harness.submit({wants(1)});
  const JobId holder = harness.submit({wants(1, {{"H100", 2}})});
  const Wait wait = wait_of(harness, harness.submit({wants(1, {{"H100", 1}})}));
  EXPECT_NE(wait.message.find("lacks 1 H100 (0 of 2 H100 free): job2 holds 2 H100;"),
            std::string::npos)
      << wait.message;
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
}

TEST(Explain, AWholeNodeThatIsNotEmpty) {
  BrainHarness harness;
  harness.join("a", 4);
  const JobId holder = harness.submit({wants(1)});
  model::StepSpec whole = wants(0);
  whole.whole_node = true;
  const JobId job = harness.submit({whole});
  expect(wait_of(harness, job), "Resources",
         "needs a node with all its cpus; 'a' comes closest and lacks 1 cpu: job1 holds 1 cpu; "
         "when that ends is not known, since max_duration is not set",
         "ask for 3 cpus and it starts now", {holder});
}

TEST(Explain, AGangForWhichOnlySomeNodesAreFree) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 2);
  const JobId holder = harness.submit({wants(2)});
  const JobId job = harness.submit({gang_of(2, 2)});
  expect(wait_of(harness, job), "GangIncomplete",
         "needs 2 nodes at once with 2 cpus each, all or none; there is room for 1 now: job1 holds "
         "2 cpus; when that ends is not known, since max_duration is not set",
         "num_nodes: 1 would start now", {holder});
  EXPECT_EQ(harness.job_status(harness.submit({gang_of(1, 2)})), Status::kRunning)
      << "the remedy helps";
}

TEST(Explain, AGangForWhichNoNodeIsFree) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 2);
  const JobId holder = harness.submit({gang_of(2, 1)});
  const JobId job = harness.submit({gang_of(2, 2)});
  const Wait wait = wait_of(harness, job);
  EXPECT_EQ(wait.reason, "GangIncomplete");
  EXPECT_EQ(wait.remedy, "runnel halt job1 would make room");
  EXPECT_EQ(wait.blockers, (std::vector<JobId>{holder}));
}

TEST(Explain, DevicesThatOthersHold) {
  BrainHarness harness;
  join(harness, "gpu", 16, {{"H100", 8}});
  const JobId holder = harness.submit({wants(1, {{"H100", 6}})});
  const JobId other = harness.submit({wants(1, {{"H100", 1}})});
  const JobId job = harness.submit({wants(1, {{"H100", 2}})});
  expect(wait_of(harness, job), "Resources",
         "needs a node with 1 cpu, 2 H100; 'gpu' comes closest and lacks 1 H100 (1 of 8 H100 "
         "free): job1 holds 6 H100, job2 holds 1 H100; when that ends is not known, since "
         "max_duration is not set",
         "ask for 1 H100 and it starts now", {holder, other});
  model::StepSpec gang = wants(1, {{"H100", 2}});
  gang.num_nodes = 2;
  join(harness, "more", 16, {{"H100", 2}});
  const std::string told = wait_of(harness, harness.submit({gang})).message;
  EXPECT_NE(told.find("now (1 of 10 H100 free): job1 holds 1 cpu, 6 H100"), std::string::npos)
      << told;
}

TEST(Explain, DevicesThatALostAttemptMayStillHave) {
  BrainHarness harness;
  harness.devices = 2;
  harness.join("gpu", 8);
  const JobId lost = harness.submit({wants(1, {{"H100", 1}})});
  harness.running("gpu", BrainHarness::ref(lost, 0, 0));
  harness.lose("gpu");
  harness.request(lost, Verb::kCancel);
  model::RankReport stranger;
  stranger.attempt = BrainHarness::ref(lost, 0, 0);
  stranger.started_at = harness.now;
  harness.rejoin("gpu", "1", {stranger});
  const JobId job = harness.submit({wants(1, {{"H100", 1}})});
  expect(wait_of(harness, job), "Resources",
         "needs a node with 1 cpu, 1 H100; 'gpu' grants no devices (0 of 2 H100 free) until "
         "processes of job1, which may have any of them since the node was lost, have ended",
         "", {lost});
  harness.ended("gpu", BrainHarness::ref(lost, 0, 0));
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "it was only that";
}

// ---- nothing to explain
// ----------------------------------------------------------------------------------

TEST(Explain, AStepOfWhichNothingWaits) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("two", 2)});
  expect(wait_of(harness, job), "Running", "nothing waits: 2 tasks started", "");
  harness.request(job, Verb::kCancel);
  expect(wait_of(harness, job), "Running",
         "nothing waits: 2 tasks started, 2 asked to end, within a grace of 30.0 s", "");
}

TEST(Explain, AStepOnANodeThatIsTakenAway) {
  BrainHarness harness;
  harness.join("a", 2);
  harness.join("b", 2);
  const JobId job = harness.submit({step("two", 2)});
  const JobId other = harness.submit({step("two", 2)});
  const std::string node = MUST(harness.brain.explain(job, harness.now)).front().message;
  EXPECT_EQ(node, "nothing waits: 2 tasks started");
  harness.decide(model::NodeNotice{NodeId("a"), Incarnation("1"),
                                   harness.now + Duration::seconds(5), "Preempted"});
  expect(wait_of(harness, job), "Running",
         "nothing waits: 2 tasks started, 2 asked to end, within a grace of 30.0 s; 'a' is taken "
         "away in 5.0 s, with what runs there",
         "");
  expect(wait_of(harness, other), "Running", "nothing waits: 2 tasks started", "");
}

TEST(Explain, AnEndedJobWaitsForNothing) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("one")});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_TRUE(waits_of(harness, job).empty());
}

TEST(Explain, AnUnknownJobIsNotFound) {
  BrainHarness harness;
  const auto waits = harness.brain.explain(JobId("nobody"), harness.now);
  ASSERT_FALSE(waits.ok());
  EXPECT_EQ(waits.error().code, Errc::kNotFound);
  EXPECT_EQ(waits.error().value, "nobody");
  EXPECT_FALSE(waits.error().hint.empty());
}

}  // namespace
}  // namespace runnel::brain
