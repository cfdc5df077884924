#include "brain/brain.h"

#include <set>

#include <gtest/gtest.h>

#include "brain/outcome.h"
#include "brain/testing/brain_harness.h"
#include "sched/request.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Status;
using testing::BrainHarness;
using testing::step;
using Verb = model::JobRequest::Verb;

TEST(Brain, RunsOneTaskToItsEnd) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("one")});
  EXPECT_EQ(harness.job_status(job), Status::kRunning);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  harness.running("a", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRunning);
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
  EXPECT_TRUE(harness.brain.state().lanes.empty());
  EXPECT_TRUE(harness.brain.state().jobs.at(job).steps[0].tasks.empty())
      << "a plain success is a range";
}

TEST(Brain, WaitsForANodeAndStartsWhenItJoins) {
  BrainHarness harness;
  const JobId job = harness.submit({step("one")});
  EXPECT_EQ(harness.job_status(job), Status::kQueued);
  harness.join("a", 1);
  EXPECT_EQ(harness.job_status(job), Status::kRunning);
}

TEST(Brain, NeverBindsMoreLanesThanCpus) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("many", 10)});
  EXPECT_EQ(harness.brain.state().lanes.size(), 2U);
  EXPECT_EQ(harness.count(job, 0, Status::kStarting), 2);
}

TEST(Brain, ParallelCapsLiveTasks) {
  BrainHarness harness;
  harness.join("a", 8);
  auto spec = step("many", 40);
  spec.parallel = 4;
  const JobId job = harness.submit({spec});
  EXPECT_EQ(harness.count(job, 0, Status::kStarting), 4);
}

TEST(Brain, ShortTasksAreBoundAheadAndLongOnesAreNot) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 1000)});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_GT(harness.count(job, 0, Status::kStarting), 50) << "1 ms tasks: about 100 ms ahead";
  EXPECT_EQ(harness.brain.state().lanes.size(), 1U);

  BrainHarness slow;
  slow.join("a", 1);
  const JobId other = slow.submit({step("many", 1000)});
  auto end = BrainHarness::end_of(BrainHarness::ref(other, 0, 0), 0, slow.now);
  slow.pass(Duration::seconds(5));
  end.ended_at = slow.now;
  slow.report("a", end);
  EXPECT_EQ(slow.count(other, 0, Status::kStarting), 1);
}

TEST(Brain, TasksStuckBehindALongOneAreWithdrawnAndRunElsewhere) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("many", 100)});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  const auto& lanes = harness.brain.state().lanes;
  const Lane& congested = lanes.begin()->second;
  ASSERT_GT(congested.queue.size(), 2U);
  const TaskIndex front = congested.queue.front();
  const TaskIndex behind = congested.queue[1];
  harness.running("a", BrainHarness::ref(job, 0, front.value()));
  harness.pass(Duration::millis(400));
  harness.wake();
  const auto stopping = harness.all<model::AttemptStopping>(harness.last);
  ASSERT_FALSE(stopping.empty());
  for (const auto& stop : stopping) {
    EXPECT_EQ(stop.because, Status::kQueued);
    EXPECT_NE(stop.attempt.task.index, front) << "the running one stays";
  }
  harness.ended("a", BrainHarness::ref(job, 0, behind.value()), 0, 0, EndCause::kNotStarted);
  const Task* task = find_task(harness.brain.state(), {job, StepIndex(0), behind});
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->charged, 0);
  EXPECT_EQ(task->losses, 0);
}

TEST(Brain, BindsNothingBehindATaskThatTakesLong) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 100)});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  const Lane& lane = harness.brain.state().lanes.begin()->second;
  harness.pass(Duration::millis(400));
  EXPECT_EQ(harness.brain.next_wake(harness.now), harness.now);
  harness.wake();
  while (lane.queue.size() > 1) {
    const Task* behind = find_task(harness.brain.state(), {job, StepIndex(0), lane.queue.back()});
    harness.ended("a", {{job, StepIndex(0), lane.queue.back()}, behind->live->number}, 0, 0,
                  EndCause::kNotStarted);
    EXPECT_TRUE(harness.all<model::LaneExtended>(harness.last).empty())
        << "it would be withdrawn again";
  }
  harness.ended("a", BrainHarness::ref(job, 0, lane.queue.front().value()));
  EXPECT_FALSE(harness.all<model::LaneExtended>(harness.last).empty());
}

TEST(Brain, DiamondRunsInOrderAndOverlaps) {
  BrainHarness harness;
  harness.join("a", 4);
  const JobId job =
      harness.submit({step("a"), step("b", 1, {0}), step("c", 1, {0}), step("d", 1, {1, 2})});
  EXPECT_EQ(harness.task_status(job, 1, 0), Status::kQueued);
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_EQ(harness.task_status(job, 1, 0), Status::kStarting);
  EXPECT_EQ(harness.task_status(job, 2, 0), Status::kStarting);
  harness.ended("a", BrainHarness::ref(job, 1, 0));
  EXPECT_EQ(harness.task_status(job, 3, 0), Status::kQueued);
  harness.ended("a", BrainHarness::ref(job, 2, 0));
  harness.ended("a", BrainHarness::ref(job, 3, 0));
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
}

TEST(Brain, AFailedStepLeavesItsDependentsSkippedAndItsSiblingsFinished) {
  BrainHarness harness;
  harness.join("a", 4);
  const JobId job = harness.submit(
      {step("a"), step("b", 1, {0}), step("c", 1, {0}), step("d", 1, {1, 2}), step("e", 1, {3})});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  harness.ended("a", BrainHarness::ref(job, 1, 0), 7);
  EXPECT_EQ(harness.step_status(job, 1), Status::kFailed);
  EXPECT_EQ(harness.step_status(job, 3), Status::kSkipped);
  EXPECT_EQ(harness.step_status(job, 4), Status::kSkipped);
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "c still runs";
  harness.ended("a", BrainHarness::ref(job, 2, 0));
  EXPECT_EQ(harness.step_status(job, 2), Status::kSucceeded);
  EXPECT_EQ(harness.job_status(job), Status::kFailed);
}

TEST(Brain, AFailedJobCountsItsFailedTasksAndNamesTheFirst) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId one = harness.submit({step("one")});
  harness.ended("a", BrainHarness::ref(one, 0, 0), 1);
  EXPECT_EQ(harness.brain.state().jobs.at(one).message, "step 'one': task 0 failed (NonZeroExit)");
  const JobId two = harness.submit({step("two", 2)});
  harness.ended("a", BrainHarness::ref(two, 0, 0), 1);
  harness.ended("a", BrainHarness::ref(two, 0, 1), 1);
  EXPECT_EQ(harness.brain.state().jobs.at(two).message,
            "step 'two': 2 tasks failed, first task 0 (NonZeroExit)");
}

model::StepSpec retried(Duration backoff) {
  auto spec = step("one");
  spec.retry.max = 2;
  spec.retry.backoff_min = backoff;
  spec.retry.backoff_max = backoff;
  return spec;
}

TEST(Brain, ARetryThatIsOverdueWantsAWakeAtOnce) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({retried(Duration::millis(1))});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.pass(Duration::millis(5));
  EXPECT_EQ(harness.brain.next_wake(harness.now), harness.now);
  harness.report("a", BrainHarness::end_of(BrainHarness::ref(job, 0, 0), 1, harness.now));
  EXPECT_EQ(harness.brain.next_wake(harness.now), harness.now) << "a report plans nothing";
  harness.wake();
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
}

TEST(Brain, ARetryThatWaitsForRoomWantsNoWake) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({retried(Duration::millis(1))});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.lose("a");
  harness.pass(Duration::minutes(2));
  harness.wake();
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRecovering);
  EXPECT_EQ(harness.brain.next_wake(harness.now), std::nullopt);
}

TEST(Brain, WhatBecameDueBeforeAReplayWantsAWakeAtOnce) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({retried(Duration::seconds(4))});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.pass(Duration::seconds(6));
  Brain again(harness.brain.state());
  EXPECT_EQ(again.next_wake(harness.now), harness.now);
  EXPECT_EQ(again.decide(model::Wake{}, harness.now).events.size(), 2U) << "a lane and its task";
}

TEST(Brain, ARetryTakesRoomElsewhereWhileItsLaneGoesOn) {
  BrainHarness harness;
  harness.join("a", 1);
  auto spec = step("many", 3);
  spec.retry = {.max = 1, .on_exit_codes = {}, .on_events = {}};
  const JobId job = harness.submit({spec});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  ASSERT_EQ(harness.brain.state().lanes.begin()->second.queue.size(), 2U) << "bound ahead";
  harness.join("b", 1);
  harness.ended("a", BrainHarness::ref(job, 0, 1), 1);
  EXPECT_EQ(harness.task_status(job, 0, 1), Status::kStarting) << "at once, on b";
  EXPECT_EQ(harness.brain.state().lanes.size(), 2U);
}

TEST(Brain, RetriesWithBackoffUntilTheBudgetIsUsed) {
  BrainHarness harness;
  harness.join("a", 1);
  auto spec = step("one");
  spec.retry = {.max = 2,
                .on_exit_codes = {75},
                .on_events = {},
                .backoff_min = Duration::seconds(10),
                .backoff_max = Duration::seconds(15)};
  const JobId job = harness.submit({spec});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 75);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRecovering);
  EXPECT_EQ(*harness.brain.next_wake(harness.now), harness.now + Duration::seconds(10));
  harness.pass(Duration::seconds(9));
  harness.wake();
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRecovering);
  harness.pass(Duration::seconds(1));
  harness.wake();
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  harness.ended("a", BrainHarness::ref(job, 0, 0, 2), 75);
  harness.pass(Duration::seconds(15));
  harness.wake();
  harness.ended("a", BrainHarness::ref(job, 0, 0, 3), 75);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kFailed);
  EXPECT_EQ(harness.job_status(job), Status::kFailed);
}

TEST(Brain, AnExitCodeOutsideThePolicyFailsAtOnce) {
  BrainHarness harness;
  harness.join("a", 1);
  auto spec = step("one");
  spec.retry.max = 5;
  spec.retry.on_exit_codes = {75};
  const JobId job = harness.submit({spec});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  EXPECT_EQ(harness.job_status(job), Status::kFailed);
  EXPECT_EQ(find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(0)})->exit_code, 1);
}

TEST(Brain, ALostNodeCostsNoBudgetAndTheTaskMovesOn) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.join("b", 1);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.lose("a");
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting) << "at once on b";
  EXPECT_EQ(harness.brain.state().lanes.begin()->second.places()[0].node, NodeId("b"));
  const auto ended = harness.all<model::AttemptEnded>(harness.history);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].to, Status::kNodeFail);
  EXPECT_EQ(ended[0].fault, model::Fault::kPlatform);
  EXPECT_FALSE(ended[0].charged);
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_TRUE(harness.last.empty()) << "a late report of a lost node is not heard";
  harness.ended("b", BrainHarness::ref(job, 0, 0, 2));
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
}

TEST(Brain, ARunnersNewLifeKeepsKnownExitCodesAndLosesTheRest) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("two", 2)});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.running("a", BrainHarness::ref(job, 0, 1));
  harness.rejoin("a", "2", {BrainHarness::end_of(BrainHarness::ref(job, 0, 0), 0, harness.now)});
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(harness.task_status(job, 0, 1), Status::kStarting) << "attempt 2";
  EXPECT_EQ(find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(1)})->attempts,
            AttemptNumber(2));
}

TEST(Brain, TheSameLifeIsAdoptedAgain) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one")});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  model::RankReport runs;
  runs.attempt = BrainHarness::ref(job, 0, 0);
  harness.rejoin("a", "1", {runs});
  EXPECT_TRUE(harness.last.empty()) << "nothing changed";
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRunning);
}

TEST(Brain, ReportsAreIdempotent) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one")});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  EXPECT_TRUE(harness.last.empty());
  harness.running("a", BrainHarness::ref(job, 0, 0));
  EXPECT_TRUE(harness.last.empty());
  harness.report("a",
                 BrainHarness::end_of(BrainHarness::ref(JobId("nobody"), 0, 0), 1, harness.now));
  EXPECT_TRUE(harness.last.empty());
}

model::StepSpec gang(int nodes, int procs = 1) {
  auto spec = step("gang");
  spec.num_nodes = nodes;
  spec.procs_per_node = procs;
  return spec;
}

// Ends the gang's attempt as a runner does whose port is taken; returns the port it had.
std::int32_t port_taken(BrainHarness& harness, const JobId& job, int attempt) {
  CHECK(harness.brain.state().lanes.size() == 1, "one gang runs");
  const std::int32_t port = harness.brain.state().lanes.begin()->second.port;
  for (int rank = 0; rank < 2; ++rank) {
    harness.ended("a", BrainHarness::ref(job, 0, 0, attempt), 0, rank, EndCause::kPortBusy);
  }
  return port;
}

TEST(Brain, AGangWhosePortIsTakenGetsTheNextAtOnceAndDoesNotSpin) {
  BrainHarness harness;
  harness.colocate = true;
  harness.join("a", 2);
  const JobId job = harness.submit({gang(2)});
  int attempt = 1;
  std::set<std::int32_t> tried;
  for (; attempt <= kPortsAtOnce; ++attempt) {
    ASSERT_EQ(harness.task_status(job, 0, 0), Status::kStarting) << "no back-off at " << attempt;
    EXPECT_TRUE(tried.insert(port_taken(harness, job, attempt)).second) << "a port is tried twice";
  }
  ASSERT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  port_taken(harness, job, attempt++);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kRecovering)
      << "so many taken ports are a reason";
  EXPECT_EQ(find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(0)})->charged, 0);
  harness.pass(Duration::seconds(1));
  harness.wake();
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
}

// Other users of the machine, and other homes of the same person, have gangs too.
TEST(Brain, TheFirstGangsOfTwoHomesGetDifferentPorts) {
  std::set<std::int32_t> ports;
  for (const char* id : {"1m88v6ek5mx7", "1m88v6ek5mx8"}) {
    BrainHarness harness;
    harness.colocate = true;
    harness.join("a", 2);
    harness.submit_as(JobId(id), {gang(2)});
    ASSERT_EQ(harness.brain.state().lanes.size(), 1U);
    const std::int32_t port = harness.brain.state().lanes.begin()->second.port;
    EXPECT_GE(port, 20'000);
    EXPECT_LE(port, 29'999);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 2U);
}

TEST(Brain, AGangStartsWholeOrNotAtAll) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.join("b", 1);
  const JobId blocker = harness.submit({step("one")});
  const JobId job = harness.submit({gang(2)});
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kQueued);
  EXPECT_EQ(harness.brain.state().lanes.size(), 1U);
  harness.ended("a", BrainHarness::ref(blocker, 0, 0));
  ASSERT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  const Lane& lane = harness.brain.state().lanes.begin()->second;
  EXPECT_EQ(lane.places().size(), 2U);
  EXPECT_GE(lane.port, 20'000);
}

TEST(Brain, ColocatedPlacesShareANode) {
  BrainHarness harness;
  harness.colocate = true;
  harness.join("a", 4);
  const JobId job = harness.submit({gang(2, 2)});
  const Lane& lane = harness.brain.state().lanes.begin()->second;
  ASSERT_EQ(lane.places().size(), 1U);
  EXPECT_EQ(lane.places()[0].ranks, 4);
  EXPECT_EQ(harness.brain.state().jobs.at(job).status, Status::kRunning);
}

TEST(Brain, TheFirstFailingRankEndsTheGangAndIsRemembered) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.join("b", 1);
  const JobId job = harness.submit({gang(2)});
  harness.running("a", BrainHarness::ref(job, 0, 0), 0);
  harness.ended("b", BrainHarness::ref(job, 0, 0), 3, 1);
  const auto stops = harness.all<model::AttemptStopping>(harness.last);
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].because, Status::kFailed);
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ends = harness.all<model::AttemptEnded>(harness.last);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].first_failed, 1);
  EXPECT_EQ(ends[0].to, Status::kFailed);
  EXPECT_EQ(find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(0)})->exit_code, 3);
}

TEST(Brain, AGangThatLosesANodeStopsTheRestAndStartsAgainWhole) {
  BrainHarness harness;
  harness.join("a", 1);
  harness.join("b", 1);
  harness.join("c", 1);
  const JobId job = harness.submit({gang(2)});
  harness.running("a", BrainHarness::ref(job, 0, 0), 0);
  harness.lose("b");
  EXPECT_EQ(harness.all<model::AttemptStopping>(harness.last).size(), 1U);
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ends = harness.all<model::AttemptEnded>(harness.last);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].to, Status::kNodeFail);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting) << "on a and c";
}

TEST(Brain, HaltPausesAndResumeGoesOn) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 3), step("after", 1, {0})});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  EXPECT_FALSE(harness.request(job, Verb::kHalt).refusal.has_value());
  EXPECT_EQ(harness.task_status(job, 0, 1), Status::kPaused);
  EXPECT_EQ(harness.job_status(job), Status::kRunning) << "one attempt is still ending";
  EXPECT_TRUE(harness.request(job, Verb::kResume).refusal.has_value());
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(harness.job_status(job), Status::kPaused);
  EXPECT_TRUE(harness.brain.state().lanes.empty());
  EXPECT_FALSE(harness.request(job, Verb::kResume).refusal.has_value());
  EXPECT_EQ(harness.job_status(job), Status::kRunning);
  const Task* task = find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(0)});
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->attempts, AttemptNumber(2));
  EXPECT_EQ(task->charged, 0);
}

TEST(Brain, WhatCannotBeResumedIsToldWhatItCan) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId good = harness.submit({step("a")});
  const JobId bad = harness.submit({step("a")});
  harness.ended("a", BrainHarness::ref(good, 0, 0), 0);
  harness.ended("a", BrainHarness::ref(bad, 0, 0), 3);
  EXPECT_EQ(harness.request(good, Verb::kResume).refusal->hint, "runnel show " + good.str());
  EXPECT_EQ(harness.request(bad, Verb::kResume).refusal->hint, "runnel retry " + bad.str());
}

TEST(Brain, CancelEndsEverythingOnce) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 3), step("after", 1, {0})});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.request(job, Verb::kCancel);
  EXPECT_EQ(harness.job_status(job), Status::kRunning);
  harness.ended("a", BrainHarness::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(harness.job_status(job), Status::kCancelled);
  EXPECT_EQ(harness.step_status(job, 1), Status::kCancelled);
  EXPECT_TRUE(harness.request(job, Verb::kCancel).refusal.has_value());
}

TEST(Brain, AHaltedJobOfWhichSomeFailedIsCancelled) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 3)});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.request(job, Verb::kHalt);
  harness.ended("a", BrainHarness::ref(job, 0, 1), 0, 0, EndCause::kStopped);
  harness.ended("a", BrainHarness::ref(job, 0, 2), 0, 0,
                EndCause::kNotStarted);  // It was bound ahead.
  EXPECT_EQ(harness.job_status(job), Status::kPaused);
  harness.request(job, Verb::kCancel);
  EXPECT_EQ(harness.step_status(job, 0), Status::kCancelled);
  EXPECT_EQ(harness.job_status(job), Status::kCancelled);
  EXPECT_EQ(harness.count(job, 0, Status::kCancelled), 2);
}

TEST(Brain, AJobIsCancelledThoughATaskHadFailed) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("many", 3)});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.running("a", BrainHarness::ref(job, 0, 1));
  harness.request(job, Verb::kCancel);
  harness.ended("a", BrainHarness::ref(job, 0, 1), 143, 0, EndCause::kStopped);
  harness.ended("a", BrainHarness::ref(job, 0, 2), 0, 0, EndCause::kNotStarted);
  EXPECT_EQ(harness.step_status(job, 0), Status::kCancelled);
  EXPECT_EQ(harness.job_status(job), Status::kCancelled);
  EXPECT_EQ(harness.count(job, 0, Status::kFailed), 1);
  const std::string& message = harness.brain.state().jobs.at(job).message;
  EXPECT_EQ(message, "cancelled on request; before that, step 'many': task 0 failed (NonZeroExit)");
}

TEST(Brain, AJobIsCancelledThoughAnotherStepHadFailed) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("bad"), step("long")});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  harness.request(job, Verb::kCancel);
  harness.ended("a", BrainHarness::ref(job, 1, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(harness.step_status(job, 0), Status::kFailed);
  EXPECT_EQ(harness.job_status(job), Status::kCancelled);
}

TEST(Brain, AJobThatFailedWithoutAUsersWordHasFailed) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("bad"), step("after", 1, {0})});
  harness.ended("a", BrainHarness::ref(job, 0, 0), 1);
  EXPECT_EQ(harness.job_status(job), Status::kFailed);
}

// Found by the simulator: nothing had ended yet, so nobody looked for whom there was room now.
TEST(Brain, WhoWaitsBehindAJobThatIsCancelledOrHaltedStartsAtOnce) {
  for (const Verb verb : {Verb::kCancel, Verb::kHalt}) {
    BrainHarness harness;
    harness.join("n", 2);
    harness.submit({step("running")});
    auto wide = step("wide");
    wide.resources.milli_cpus = 2'000;
    const JobId first = harness.submit({wide});
    harness.pass(sched::kBackfillPatience);  // From now on nobody passes it any more.
    const JobId next = harness.submit({step("next")});
    EXPECT_EQ(harness.task_status(next, 0, 0), Status::kQueued);
    harness.request(first, verb);
    EXPECT_EQ(harness.task_status(next, 0, 0), Status::kStarting);
  }
}

// Found by the simulator: the last task that waited went to a lane that was open anyway.
TEST(Brain, WhoWaitsBehindAStepStartsWhenNoTaskOfItWaits) {
  BrainHarness harness;
  harness.join("n", 4);
  harness.submit(
      {step("other")});  // Its end would make room for two cpus, beside the one that is free.
  auto wide = step("wide", 2);
  wide.resources.milli_cpus = 2'000;
  const JobId first = harness.submit({wide});
  harness.pass(sched::kBackfillPatience);  // From now on nobody passes it any more.
  const JobId next = harness.submit({step("next")});
  EXPECT_EQ(harness.task_status(next, 0, 0), Status::kQueued);
  harness.ended("n", BrainHarness::ref(first, 0, 0));
  EXPECT_EQ(harness.task_status(first, 0, 1), Status::kStarting);
  EXPECT_EQ(harness.task_status(next, 0, 0), Status::kStarting);
}

TEST(Brain, WhatALongStepCannotUseIsNotKeptForIt) {
  BrainHarness harness;
  harness.join("n", 3);
  auto wide = step("wide", 16);
  wide.resources.milli_cpus = 2'000;
  const JobId first = harness.submit({wide});
  harness.pass(sched::kBackfillPatience);
  const JobId next = harness.submit({step("next")});
  EXPECT_EQ(harness.task_status(next, 0, 0), Status::kStarting) << "no second lane of 2 cpus fits";
  harness.ended("n", BrainHarness::ref(first, 0, 0));
  EXPECT_EQ(harness.task_status(first, 0, 1), Status::kStarting);
}

TEST(Brain, AJobThatWaitsIsCancelledAtOnce) {
  BrainHarness harness;
  const JobId job = harness.submit({step("many", 3)});
  harness.request(job, Verb::kCancel);
  EXPECT_EQ(harness.job_status(job), Status::kCancelled);
}

TEST(Brain, RetryReopensWhatFailedAndKeepsWhatSucceeded) {
  BrainHarness harness;
  harness.join("a", 2);
  const JobId job = harness.submit({step("two", 2), step("after", 1, {0})});
  harness.ended("a", BrainHarness::ref(job, 0, 0));
  harness.ended("a", BrainHarness::ref(job, 0, 1), 1);
  EXPECT_EQ(harness.job_status(job), Status::kFailed);
  EXPECT_EQ(harness.step_status(job, 1), Status::kSkipped);
  harness.request(job, Verb::kRetry);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(harness.task_status(job, 0, 1), Status::kStarting);
  harness.ended("a", BrainHarness::ref(job, 0, 1, 2));
  harness.ended("a", BrainHarness::ref(job, 1, 0));
  EXPECT_EQ(harness.job_status(job), Status::kSucceeded);
  EXPECT_TRUE(harness.request(job, Verb::kRetry).refusal.has_value());
}

TEST(Brain, TheCheckpointCodeRequeuesAndChargesNothing) {
  BrainHarness harness;
  harness.join("a", 1);
  auto spec = step("one");
  spec.checkpoint = model::CheckpointPolicy{.dir = "c", .every = {}, .exit_code = 85};
  const JobId job = harness.submit({spec});
  auto end = BrainHarness::end_of(BrainHarness::ref(job, 0, 0), 85, harness.now);
  harness.pass(Duration::seconds(5));
  end.ended_at = harness.now;
  harness.report("a", end);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  EXPECT_EQ(find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(0)})->charged, 0);
}

TEST(Brain, HigherPriorityGoesFirstWhenRoomAppears) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId first = harness.submit({step("many", 100)});
  const JobId urgent = harness.submit({step("one")}, 10);
  EXPECT_EQ(harness.job_status(urgent), Status::kQueued);
  harness.ended("a", BrainHarness::ref(first, 0, 0));
  EXPECT_EQ(harness.task_status(urgent, 0, 0), Status::kStarting);
  EXPECT_EQ(harness.count(first, 0, Status::kStarting), 0);
}

model::Submit keyed(const std::string& job, const std::string& project, const std::string& actor) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "x";
  spec->steps = {step("s")};
  model::Submit input;
  input.job = JobId(job);
  input.project = ProjectId(project);
  input.actor = actor;
  input.idempotency_key = "k";
  input.body_hash = "hash of " + job;
  input.spec = spec;
  return input;
}

TEST(Brain, AnIdempotencyKeyIsItsActorsInOneProject) {
  BrainHarness harness;
  EXPECT_EQ(harness.decide(keyed("one", "vision", "ada")).job, JobId("one"));
  for (const auto& [job, project, actor] :
       {std::tuple("two", "vision", "bob"), std::tuple("three", "speech", "ada")}) {
    const Decision decided = harness.decide(keyed(job, project, actor));
    EXPECT_FALSE(decided.refusal) << job;
    EXPECT_FALSE(decided.repeated) << job;
    EXPECT_EQ(decided.job, JobId(job));
  }
  EXPECT_TRUE(harness.decide(keyed("one", "vision", "ada")).repeated);
  EXPECT_EQ(harness.decide(keyed("four", "vision", "ada")).refusal->code, Errc::kInvalid);
  EXPECT_EQ(harness.brain.state().keys.size(), 3U);
  harness.pass(Duration::hours(25));
  harness.wake();
  EXPECT_TRUE(harness.brain.state().keys.empty()) << "each expires by its whole name";
  EXPECT_EQ(harness.decide(keyed("five", "vision", "ada")).job, JobId("five"));
}

// A submission that is repeated across an upgrade starts nothing twice.
TEST(Brain, AKeyThatAnEarlierBuildTookAnswersEverybody) {
  BrainHarness harness;
  const model::Submit before = keyed("one", "default", "");
  EXPECT_EQ(harness.decide(before).job, JobId("one"));
  model::Submit again = before;
  again.actor = "ada";
  again.job = JobId("two");
  EXPECT_TRUE(harness.decide(again).repeated);
  EXPECT_EQ(harness.decide(again).job, JobId("one"));
}

TEST(Brain, AnIdempotencyKeyAnswersOnceAndRefusesAnotherBody) {
  BrainHarness harness;
  model::Submit input;
  input.job = JobId("one");
  input.idempotency_key = "k";
  input.body_hash = "h";
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "x";
  spec->steps = {step("s")};
  input.spec = spec;
  EXPECT_EQ(harness.decide(input).job, JobId("one"));
  input.job = JobId("two");
  const Decision again = harness.decide(input);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.job, JobId("one"));
  EXPECT_TRUE(again.events.empty());
  input.body_hash = "other";
  EXPECT_EQ(harness.decide(input).refusal->code, Errc::kInvalid);
  harness.pass(Duration::hours(25));
  harness.wake();
  EXPECT_TRUE(harness.brain.state().keys.empty());
}

TEST(Brain, WhatCanNeverStartIsRefused) {
  BrainHarness harness;
  harness.join("a", 2);
  auto spec = step("big");
  spec.resources.milli_cpus = 3000;
  const JobId job = harness.submit({spec});
  ASSERT_TRUE(harness.last_refusal.has_value());
  EXPECT_EQ(harness.last_refusal->code, Errc::kInvalid);
  EXPECT_FALSE(harness.brain.state().jobs.contains(job));
}

TEST(Brain, OldFinishedJobsAreArchived) {
  BrainHarness harness;
  harness.join("a", 1);
  for (std::size_t count = 0; count < Limits().finished_jobs + 2; ++count) {
    const JobId job = harness.submit({step("one")});
    harness.ended("a", BrainHarness::ref(job, 0, 0));
  }
  EXPECT_EQ(harness.brain.state().jobs.size(), Limits().finished_jobs);
  EXPECT_EQ(harness.all<model::JobArchived>(harness.history).size(), 2U);
}

TEST(Brain, AnArchivedJobComesBackToBeTriedAgain) {
  BrainHarness harness;
  harness.brain = Brain({}, Limits{.finished_jobs = 0});
  harness.join("a", 1);
  const JobId job = harness.submit({step("one"), step("two", 2, {0})});
  const Decision ended = harness.decide(
      model::NodeReport{NodeId("a"),
                        Incarnation("1"),
                        {BrainHarness::end_of(BrainHarness::ref(job, 0, 0), 1, harness.now)}});
  ASSERT_EQ(ended.archived.size(), 1U);
  const std::string record = encode_job(ended.archived.front());
  ASSERT_FALSE(harness.brain.state().jobs.contains(job));
  const auto ask = [&](Verb verb, const std::string& with) {
    return harness.decide(model::JobRequest{verb, job, "tester", with});
  };
  EXPECT_EQ(ask(Verb::kRetry, "").refusal->code, Errc::kNotFound);
  EXPECT_EQ(ask(Verb::kRetry, "{}").refusal->code, Errc::kCorrupt);
  EXPECT_EQ(ask(Verb::kCancel, record).refusal->code, Errc::kConflict);
  EXPECT_EQ(ask(Verb::kDelete, record).refusal->code, Errc::kNotFound);
  EXPECT_TRUE(harness.last.empty());
  ASSERT_FALSE(ask(Verb::kRetry, record).refusal.has_value());
  EXPECT_EQ(harness.all<model::JobRestored>(harness.last).size(), 1U);
  EXPECT_EQ(harness.task_status(job, 0, 0), Status::kStarting);
  EXPECT_EQ(encode_state(harness.brain.state()), encode_state(harness.replica()));
  EXPECT_TRUE(ask(Verb::kRetry, record).refusal.has_value()) << "it is in the state now";
  harness.ended("a", BrainHarness::ref(job, 0, 0, 2));
  EXPECT_EQ(harness.step_status(job, 0), Status::kSucceeded);
}

TEST(Brain, AMillionTasksCostOneEvent) {
  BrainHarness harness;
  harness.submit({step("many", 1'000'000)});
  EXPECT_EQ(harness.last.size(), 1U);
}

TEST(Brain, APauseWhoseDependencyFailsIsSkipped) {
  BrainHarness harness;
  harness.join("a", 1);
  const JobId job = harness.submit({step("one"), step("after", 1, {0})});
  harness.running("a", BrainHarness::ref(job, 0, 0));
  harness.request(job, Verb::kHalt);
  EXPECT_EQ(harness.step_status(job, 1), Status::kPaused);
  harness.ended("a", BrainHarness::ref(job, 0, 0), 0);
  EXPECT_EQ(harness.step_status(job, 0), Status::kSucceeded) << "it ended before it was stopped";
  EXPECT_EQ(harness.job_status(job), Status::kPaused);
}

}  // namespace
}  // namespace runnel::brain
