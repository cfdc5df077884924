#include "brain/brain.h"

#include <set>

#include <gtest/gtest.h>

#include "brain/outcome.h"
#include "brain/testing/desk.h"
#include "sched/request.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Status;
using testing::Desk;
using testing::step;
using Verb = model::JobRequest::Verb;

TEST(Brain, RunsOneTaskToItsEnd) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("one")});
  EXPECT_EQ(desk.job_status(job), Status::kRunning);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  desk.running("a", Desk::ref(job, 0, 0));
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRunning);
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
  EXPECT_TRUE(desk.brain.state().lanes.empty());
  EXPECT_TRUE(desk.brain.state().jobs.at(job).steps[0].tasks.empty())
      << "a plain success is a range";
}

TEST(Brain, WaitsForANodeAndStartsWhenItJoins) {
  Desk desk;
  const JobId job = desk.submit({step("one")});
  EXPECT_EQ(desk.job_status(job), Status::kQueued);
  desk.join("a", 1);
  EXPECT_EQ(desk.job_status(job), Status::kRunning);
}

TEST(Brain, NeverBindsMoreLanesThanCpus) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("many", 10)});
  EXPECT_EQ(desk.brain.state().lanes.size(), 2U);
  EXPECT_EQ(desk.count(job, 0, Status::kStarting), 2);
}

TEST(Brain, ParallelCapsLiveTasks) {
  Desk desk;
  desk.join("a", 8);
  auto spec = step("many", 40);
  spec.parallel = 4;
  const JobId job = desk.submit({spec});
  EXPECT_EQ(desk.count(job, 0, Status::kStarting), 4);
}

TEST(Brain, ShortTasksAreBoundAheadAndLongOnesAreNot) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 1000)});
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_GT(desk.count(job, 0, Status::kStarting), 50) << "1 ms tasks: about 100 ms ahead";
  EXPECT_EQ(desk.brain.state().lanes.size(), 1U);

  Desk slow;
  slow.join("a", 1);
  const JobId other = slow.submit({step("many", 1000)});
  auto end = Desk::end_of(Desk::ref(other, 0, 0), 0, slow.now);
  slow.pass(Duration::seconds(5));
  end.ended_at = slow.now;
  slow.report("a", end);
  EXPECT_EQ(slow.count(other, 0, Status::kStarting), 1);
}

TEST(Brain, TasksStuckBehindALongOneAreWithdrawnAndRunElsewhere) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("many", 100)});
  desk.ended("a", Desk::ref(job, 0, 0));
  const auto& lanes = desk.brain.state().lanes;
  const Lane& crowded = lanes.begin()->second;
  ASSERT_GT(crowded.queue.size(), 2U);
  const TaskIndex front = crowded.queue.front();
  const TaskIndex behind = crowded.queue[1];
  desk.running("a", Desk::ref(job, 0, front.value()));
  desk.pass(Duration::millis(400));
  desk.wake();
  const auto stopping = desk.all<model::AttemptStopping>(desk.last);
  ASSERT_FALSE(stopping.empty());
  for (const auto& stop : stopping) {
    EXPECT_EQ(stop.because, Status::kQueued);
    EXPECT_NE(stop.attempt.task.index, front) << "the running one stays";
  }
  desk.ended("a", Desk::ref(job, 0, behind.value()), 0, 0, EndCause::kNotStarted);
  const Task* task = find_task(desk.brain.state(), {job, StepIndex(0), behind});
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->charged, 0);
  EXPECT_EQ(task->losses, 0);
}

TEST(Brain, BindsNothingBehindATaskThatTakesLong) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 100)});
  desk.ended("a", Desk::ref(job, 0, 0));
  const Lane& lane = desk.brain.state().lanes.begin()->second;
  desk.pass(Duration::millis(400));
  EXPECT_EQ(desk.brain.next_wake(desk.now), desk.now);
  desk.wake();
  while (lane.queue.size() > 1) {
    const Task* behind = find_task(desk.brain.state(), {job, StepIndex(0), lane.queue.back()});
    desk.ended("a", {{job, StepIndex(0), lane.queue.back()}, behind->live->number}, 0, 0,
               EndCause::kNotStarted);
    EXPECT_TRUE(desk.all<model::LaneExtended>(desk.last).empty()) << "it would be withdrawn again";
  }
  desk.ended("a", Desk::ref(job, 0, lane.queue.front().value()));
  EXPECT_FALSE(desk.all<model::LaneExtended>(desk.last).empty());
}

TEST(Brain, DiamondRunsInOrderAndOverlaps) {
  Desk desk;
  desk.join("a", 4);
  const JobId job =
      desk.submit({step("a"), step("b", 1, {0}), step("c", 1, {0}), step("d", 1, {1, 2})});
  EXPECT_EQ(desk.task_status(job, 1, 0), Status::kQueued);
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_EQ(desk.task_status(job, 1, 0), Status::kStarting);
  EXPECT_EQ(desk.task_status(job, 2, 0), Status::kStarting);
  desk.ended("a", Desk::ref(job, 1, 0));
  EXPECT_EQ(desk.task_status(job, 3, 0), Status::kQueued);
  desk.ended("a", Desk::ref(job, 2, 0));
  desk.ended("a", Desk::ref(job, 3, 0));
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
}

TEST(Brain, AFailedStepLeavesItsDependentsSkippedAndItsSiblingsFinished) {
  Desk desk;
  desk.join("a", 4);
  const JobId job = desk.submit(
      {step("a"), step("b", 1, {0}), step("c", 1, {0}), step("d", 1, {1, 2}), step("e", 1, {3})});
  desk.ended("a", Desk::ref(job, 0, 0));
  desk.ended("a", Desk::ref(job, 1, 0), 7);
  EXPECT_EQ(desk.step_status(job, 1), Status::kFailed);
  EXPECT_EQ(desk.step_status(job, 3), Status::kSkipped);
  EXPECT_EQ(desk.step_status(job, 4), Status::kSkipped);
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "c still runs";
  desk.ended("a", Desk::ref(job, 2, 0));
  EXPECT_EQ(desk.step_status(job, 2), Status::kSucceeded);
  EXPECT_EQ(desk.job_status(job), Status::kFailed);
}

TEST(Brain, AFailedJobCountsItsFailedTasksAndNamesTheFirst) {
  Desk desk;
  desk.join("a", 2);
  const JobId one = desk.submit({step("one")});
  desk.ended("a", Desk::ref(one, 0, 0), 1);
  EXPECT_EQ(desk.brain.state().jobs.at(one).message, "step 'one': task 0 failed (NonZeroExit)");
  const JobId two = desk.submit({step("two", 2)});
  desk.ended("a", Desk::ref(two, 0, 0), 1);
  desk.ended("a", Desk::ref(two, 0, 1), 1);
  EXPECT_EQ(desk.brain.state().jobs.at(two).message,
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
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({retried(Duration::millis(1))});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.pass(Duration::millis(5));
  EXPECT_EQ(desk.brain.next_wake(desk.now), desk.now);
  desk.report("a", Desk::end_of(Desk::ref(job, 0, 0), 1, desk.now));
  EXPECT_EQ(desk.brain.next_wake(desk.now), desk.now) << "a report plans nothing";
  desk.wake();
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
}

TEST(Brain, ARetryThatWaitsForRoomWantsNoWake) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({retried(Duration::millis(1))});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.lose("a");
  desk.pass(Duration::minutes(2));
  desk.wake();
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRecovering);
  EXPECT_EQ(desk.brain.next_wake(desk.now), std::nullopt);
}

TEST(Brain, WhatBecameDueBeforeAReplayWantsAWakeAtOnce) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({retried(Duration::seconds(4))});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.pass(Duration::seconds(6));
  Brain again(desk.brain.state());
  EXPECT_EQ(again.next_wake(desk.now), desk.now);
  EXPECT_EQ(again.decide(model::Wake{}, desk.now).events.size(), 2U) << "a lane and its task";
}

TEST(Brain, ARetryTakesRoomElsewhereWhileItsLaneGoesOn) {
  Desk desk;
  desk.join("a", 1);
  auto spec = step("many", 3);
  spec.retry = {.max = 1, .on_exit_codes = {}, .on_events = {}};
  const JobId job = desk.submit({spec});
  desk.ended("a", Desk::ref(job, 0, 0));
  ASSERT_EQ(desk.brain.state().lanes.begin()->second.queue.size(), 2U) << "bound ahead";
  desk.join("b", 1);
  desk.ended("a", Desk::ref(job, 0, 1), 1);
  EXPECT_EQ(desk.task_status(job, 0, 1), Status::kStarting) << "at once, on b";
  EXPECT_EQ(desk.brain.state().lanes.size(), 2U);
}

TEST(Brain, RetriesWithBackoffUntilTheBudgetIsUsed) {
  Desk desk;
  desk.join("a", 1);
  auto spec = step("one");
  spec.retry = {.max = 2,
                .on_exit_codes = {75},
                .on_events = {},
                .backoff_min = Duration::seconds(10),
                .backoff_max = Duration::seconds(15)};
  const JobId job = desk.submit({spec});
  desk.ended("a", Desk::ref(job, 0, 0), 75);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRecovering);
  EXPECT_EQ(*desk.brain.next_wake(desk.now), desk.now + Duration::seconds(10));
  desk.pass(Duration::seconds(9));
  desk.wake();
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRecovering);
  desk.pass(Duration::seconds(1));
  desk.wake();
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  desk.ended("a", Desk::ref(job, 0, 0, 2), 75);
  desk.pass(Duration::seconds(15));
  desk.wake();
  desk.ended("a", Desk::ref(job, 0, 0, 3), 75);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kFailed);
  EXPECT_EQ(desk.job_status(job), Status::kFailed);
}

TEST(Brain, AnExitCodeOutsideThePolicyFailsAtOnce) {
  Desk desk;
  desk.join("a", 1);
  auto spec = step("one");
  spec.retry.max = 5;
  spec.retry.on_exit_codes = {75};
  const JobId job = desk.submit({spec});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  EXPECT_EQ(desk.job_status(job), Status::kFailed);
  EXPECT_EQ(find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(0)})->exit_code, 1);
}

TEST(Brain, ALostNodeCostsNoBudgetAndTheTaskMovesOn) {
  Desk desk;
  desk.join("a", 1);
  desk.join("b", 1);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.lose("a");
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting) << "at once on b";
  EXPECT_EQ(desk.brain.state().lanes.begin()->second.places()[0].node, NodeId("b"));
  const auto ended = desk.all<model::AttemptEnded>(desk.history);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].to, Status::kNodeFail);
  EXPECT_EQ(ended[0].fault, model::Fault::kPlatform);
  EXPECT_FALSE(ended[0].charged);
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_TRUE(desk.last.empty()) << "a late report of a lost node is not heard";
  desk.ended("b", Desk::ref(job, 0, 0, 2));
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
}

TEST(Brain, ARunnersNewLifeKeepsKnownExitCodesAndLosesTheRest) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("two", 2)});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.running("a", Desk::ref(job, 0, 1));
  desk.rejoin("a", "2", {Desk::end_of(Desk::ref(job, 0, 0), 0, desk.now)});
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(desk.task_status(job, 0, 1), Status::kStarting) << "attempt 2";
  EXPECT_EQ(find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(1)})->attempts,
            AttemptNumber(2));
}

TEST(Brain, TheSameLifeIsAdoptedAgain) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one")});
  desk.running("a", Desk::ref(job, 0, 0));
  model::RankReport runs;
  runs.attempt = Desk::ref(job, 0, 0);
  desk.rejoin("a", "1", {runs});
  EXPECT_TRUE(desk.last.empty()) << "nothing changed";
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRunning);
}

TEST(Brain, ReportsAreIdempotent) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one")});
  desk.ended("a", Desk::ref(job, 0, 0));
  desk.ended("a", Desk::ref(job, 0, 0));
  EXPECT_TRUE(desk.last.empty());
  desk.running("a", Desk::ref(job, 0, 0));
  EXPECT_TRUE(desk.last.empty());
  desk.report("a", Desk::end_of(Desk::ref(JobId("nobody"), 0, 0), 1, desk.now));
  EXPECT_TRUE(desk.last.empty());
}

model::StepSpec gang(int nodes, int procs = 1) {
  auto spec = step("gang");
  spec.num_nodes = nodes;
  spec.procs_per_node = procs;
  return spec;
}

// Ends the gang's attempt as a runner does whose port is taken; returns the port it had.
std::int32_t port_taken(Desk& desk, const JobId& job, int attempt) {
  CHECK(desk.brain.state().lanes.size() == 1, "one gang runs");
  const std::int32_t port = desk.brain.state().lanes.begin()->second.port;
  for (int rank = 0; rank < 2; ++rank) {
    desk.ended("a", Desk::ref(job, 0, 0, attempt), 0, rank, EndCause::kPortBusy);
  }
  return port;
}

TEST(Brain, AGangWhosePortIsTakenGetsTheNextAtOnceAndDoesNotSpin) {
  Desk desk;
  desk.colocate = true;
  desk.join("a", 2);
  const JobId job = desk.submit({gang(2)});
  int attempt = 1;
  std::set<std::int32_t> tried;
  for (; attempt <= kPortsAtOnce; ++attempt) {
    ASSERT_EQ(desk.task_status(job, 0, 0), Status::kStarting) << "no back-off at " << attempt;
    EXPECT_TRUE(tried.insert(port_taken(desk, job, attempt)).second) << "a port is tried twice";
  }
  ASSERT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  port_taken(desk, job, attempt++);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kRecovering) << "so many taken ports are a reason";
  EXPECT_EQ(find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(0)})->charged, 0);
  desk.pass(Duration::seconds(1));
  desk.wake();
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
}

// Whoever else uses the machine, or another home of the same person, has gangs too.
TEST(Brain, TheFirstGangsOfTwoHomesGetDifferentPorts) {
  std::set<std::int32_t> ports;
  for (const char* id : {"1m88v6ek5mx7", "1m88v6ek5mx8"}) {
    Desk desk;
    desk.colocate = true;
    desk.join("a", 2);
    desk.submit_as(JobId(id), {gang(2)});
    ASSERT_EQ(desk.brain.state().lanes.size(), 1U);
    const std::int32_t port = desk.brain.state().lanes.begin()->second.port;
    EXPECT_GE(port, 20'000);
    EXPECT_LE(port, 29'999);
    ports.insert(port);
  }
  EXPECT_EQ(ports.size(), 2U);
}

TEST(Brain, AGangStartsWholeOrNotAtAll) {
  Desk desk;
  desk.join("a", 1);
  desk.join("b", 1);
  const JobId blocker = desk.submit({step("one")});
  const JobId job = desk.submit({gang(2)});
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kQueued);
  EXPECT_EQ(desk.brain.state().lanes.size(), 1U);
  desk.ended("a", Desk::ref(blocker, 0, 0));
  ASSERT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  const Lane& lane = desk.brain.state().lanes.begin()->second;
  EXPECT_EQ(lane.places().size(), 2U);
  EXPECT_GE(lane.port, 20'000);
}

TEST(Brain, ColocatedPlacesShareANode) {
  Desk desk;
  desk.colocate = true;
  desk.join("a", 4);
  const JobId job = desk.submit({gang(2, 2)});
  const Lane& lane = desk.brain.state().lanes.begin()->second;
  ASSERT_EQ(lane.places().size(), 1U);
  EXPECT_EQ(lane.places()[0].ranks, 4);
  EXPECT_EQ(desk.brain.state().jobs.at(job).status, Status::kRunning);
}

TEST(Brain, TheFirstFailingRankEndsTheGangAndIsRemembered) {
  Desk desk;
  desk.join("a", 1);
  desk.join("b", 1);
  const JobId job = desk.submit({gang(2)});
  desk.running("a", Desk::ref(job, 0, 0), 0);
  desk.ended("b", Desk::ref(job, 0, 0), 3, 1);
  const auto stops = desk.all<model::AttemptStopping>(desk.last);
  ASSERT_EQ(stops.size(), 1U);
  EXPECT_EQ(stops[0].because, Status::kFailed);
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ends = desk.all<model::AttemptEnded>(desk.last);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].first_failed, 1);
  EXPECT_EQ(ends[0].to, Status::kFailed);
  EXPECT_EQ(find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(0)})->exit_code, 3);
}

TEST(Brain, AGangThatLosesANodeStopsTheRestAndStartsAgainWhole) {
  Desk desk;
  desk.join("a", 1);
  desk.join("b", 1);
  desk.join("c", 1);
  const JobId job = desk.submit({gang(2)});
  desk.running("a", Desk::ref(job, 0, 0), 0);
  desk.lose("b");
  EXPECT_EQ(desk.all<model::AttemptStopping>(desk.last).size(), 1U);
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  const auto ends = desk.all<model::AttemptEnded>(desk.last);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].to, Status::kNodeFail);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting) << "on a and c";
}

TEST(Brain, HaltPausesAndResumeGoesOn) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 3), step("after", 1, {0})});
  desk.running("a", Desk::ref(job, 0, 0));
  EXPECT_FALSE(desk.request(job, Verb::kHalt).refusal.has_value());
  EXPECT_EQ(desk.task_status(job, 0, 1), Status::kPaused);
  EXPECT_EQ(desk.job_status(job), Status::kRunning) << "one attempt is still ending";
  EXPECT_TRUE(desk.request(job, Verb::kResume).refusal.has_value());
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(desk.job_status(job), Status::kPaused);
  EXPECT_TRUE(desk.brain.state().lanes.empty());
  EXPECT_FALSE(desk.request(job, Verb::kResume).refusal.has_value());
  EXPECT_EQ(desk.job_status(job), Status::kRunning);
  const Task* task = find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(0)});
  ASSERT_NE(task, nullptr);
  EXPECT_EQ(task->attempts, AttemptNumber(2));
  EXPECT_EQ(task->charged, 0);
}

TEST(Brain, WhatCannotBeResumedIsToldWhatItCan) {
  Desk desk;
  desk.join("a", 2);
  const JobId good = desk.submit({step("a")});
  const JobId bad = desk.submit({step("a")});
  desk.ended("a", Desk::ref(good, 0, 0), 0);
  desk.ended("a", Desk::ref(bad, 0, 0), 3);
  EXPECT_EQ(desk.request(good, Verb::kResume).refusal->hint, "runnel show " + good.str());
  EXPECT_EQ(desk.request(bad, Verb::kResume).refusal->hint, "runnel retry " + bad.str());
}

TEST(Brain, CancelEndsEverythingOnce) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 3), step("after", 1, {0})});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.request(job, Verb::kCancel);
  EXPECT_EQ(desk.job_status(job), Status::kRunning);
  desk.ended("a", Desk::ref(job, 0, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(desk.job_status(job), Status::kCancelled);
  EXPECT_EQ(desk.step_status(job, 1), Status::kCancelled);
  EXPECT_TRUE(desk.request(job, Verb::kCancel).refusal.has_value());
}

TEST(Brain, AHaltedJobOfWhichSomeFailedIsCancelled) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 3)});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.request(job, Verb::kHalt);
  desk.ended("a", Desk::ref(job, 0, 1), 0, 0, EndCause::kStopped);
  desk.ended("a", Desk::ref(job, 0, 2), 0, 0, EndCause::kNotStarted);  // It was bound ahead.
  EXPECT_EQ(desk.job_status(job), Status::kPaused);
  desk.request(job, Verb::kCancel);
  EXPECT_EQ(desk.step_status(job, 0), Status::kCancelled);
  EXPECT_EQ(desk.job_status(job), Status::kCancelled);
  EXPECT_EQ(desk.count(job, 0, Status::kCancelled), 2);
}

TEST(Brain, AJobIsCancelledThoughATaskHadFailed) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("many", 3)});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.running("a", Desk::ref(job, 0, 1));
  desk.request(job, Verb::kCancel);
  desk.ended("a", Desk::ref(job, 0, 1), 143, 0, EndCause::kStopped);
  desk.ended("a", Desk::ref(job, 0, 2), 0, 0, EndCause::kNotStarted);
  EXPECT_EQ(desk.step_status(job, 0), Status::kCancelled);
  EXPECT_EQ(desk.job_status(job), Status::kCancelled);
  EXPECT_EQ(desk.count(job, 0, Status::kFailed), 1);
  const std::string& message = desk.brain.state().jobs.at(job).message;
  EXPECT_EQ(message, "cancelled on request; before that, step 'many': task 0 failed (NonZeroExit)");
}

TEST(Brain, AJobIsCancelledThoughAnotherStepHadFailed) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("bad"), step("long")});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  desk.request(job, Verb::kCancel);
  desk.ended("a", Desk::ref(job, 1, 0), 143, 0, EndCause::kStopped);
  EXPECT_EQ(desk.step_status(job, 0), Status::kFailed);
  EXPECT_EQ(desk.job_status(job), Status::kCancelled);
}

TEST(Brain, AJobThatFailedWithoutAUsersWordHasFailed) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("bad"), step("after", 1, {0})});
  desk.ended("a", Desk::ref(job, 0, 0), 1);
  EXPECT_EQ(desk.job_status(job), Status::kFailed);
}

// Found by the simulator: nothing had ended yet, so nobody looked for whom there was room now.
TEST(Brain, WhoWaitsBehindAJobThatIsCancelledOrHaltedStartsAtOnce) {
  for (const Verb verb : {Verb::kCancel, Verb::kHalt}) {
    Desk desk;
    desk.join("n", 2);
    desk.submit({step("running")});
    auto wide = step("wide");
    wide.resources.milli_cpus = 2'000;
    const JobId first = desk.submit({wide});
    desk.pass(sched::kBackfillPatience);  // From now on nobody passes it any more.
    const JobId next = desk.submit({step("next")});
    EXPECT_EQ(desk.task_status(next, 0, 0), Status::kQueued);
    desk.request(first, verb);
    EXPECT_EQ(desk.task_status(next, 0, 0), Status::kStarting);
  }
}

// Found by the simulator: the last task that waited went to a lane that was open anyway.
TEST(Brain, WhoWaitsBehindAStepStartsWhenNoTaskOfItWaits) {
  Desk desk;
  desk.join("n", 4);
  desk.submit(
      {step("other")});  // Its end would make room for two cpus, beside the one that is free.
  auto wide = step("wide", 2);
  wide.resources.milli_cpus = 2'000;
  const JobId first = desk.submit({wide});
  desk.pass(sched::kBackfillPatience);  // From now on nobody passes it any more.
  const JobId next = desk.submit({step("next")});
  EXPECT_EQ(desk.task_status(next, 0, 0), Status::kQueued);
  desk.ended("n", Desk::ref(first, 0, 0));
  EXPECT_EQ(desk.task_status(first, 0, 1), Status::kStarting);
  EXPECT_EQ(desk.task_status(next, 0, 0), Status::kStarting);
}

TEST(Brain, WhatALongStepCannotUseIsNotKeptForIt) {
  Desk desk;
  desk.join("n", 3);
  auto wide = step("wide", 16);
  wide.resources.milli_cpus = 2'000;
  const JobId first = desk.submit({wide});
  desk.pass(sched::kBackfillPatience);
  const JobId next = desk.submit({step("next")});
  EXPECT_EQ(desk.task_status(next, 0, 0), Status::kStarting) << "no second lane of 2 cpus fits";
  desk.ended("n", Desk::ref(first, 0, 0));
  EXPECT_EQ(desk.task_status(first, 0, 1), Status::kStarting);
}

TEST(Brain, AJobThatWaitsIsCancelledAtOnce) {
  Desk desk;
  const JobId job = desk.submit({step("many", 3)});
  desk.request(job, Verb::kCancel);
  EXPECT_EQ(desk.job_status(job), Status::kCancelled);
}

TEST(Brain, RetryReopensWhatFailedAndKeepsWhatSucceeded) {
  Desk desk;
  desk.join("a", 2);
  const JobId job = desk.submit({step("two", 2), step("after", 1, {0})});
  desk.ended("a", Desk::ref(job, 0, 0));
  desk.ended("a", Desk::ref(job, 0, 1), 1);
  EXPECT_EQ(desk.job_status(job), Status::kFailed);
  EXPECT_EQ(desk.step_status(job, 1), Status::kSkipped);
  desk.request(job, Verb::kRetry);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kSucceeded);
  EXPECT_EQ(desk.task_status(job, 0, 1), Status::kStarting);
  desk.ended("a", Desk::ref(job, 0, 1, 2));
  desk.ended("a", Desk::ref(job, 1, 0));
  EXPECT_EQ(desk.job_status(job), Status::kSucceeded);
  EXPECT_TRUE(desk.request(job, Verb::kRetry).refusal.has_value());
}

TEST(Brain, TheCheckpointCodeRequeuesAndChargesNothing) {
  Desk desk;
  desk.join("a", 1);
  auto spec = step("one");
  spec.checkpoint = model::CheckpointPolicy{.dir = "c", .every = {}, .exit_code = 85};
  const JobId job = desk.submit({spec});
  auto end = Desk::end_of(Desk::ref(job, 0, 0), 85, desk.now);
  desk.pass(Duration::seconds(5));
  end.ended_at = desk.now;
  desk.report("a", end);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  EXPECT_EQ(find_task(desk.brain.state(), {job, StepIndex(0), TaskIndex(0)})->charged, 0);
}

TEST(Brain, HigherPriorityGoesFirstWhenRoomAppears) {
  Desk desk;
  desk.join("a", 1);
  const JobId first = desk.submit({step("many", 100)});
  const JobId urgent = desk.submit({step("one")}, 10);
  EXPECT_EQ(desk.job_status(urgent), Status::kQueued);
  desk.ended("a", Desk::ref(first, 0, 0));
  EXPECT_EQ(desk.task_status(urgent, 0, 0), Status::kStarting);
  EXPECT_EQ(desk.count(first, 0, Status::kStarting), 0);
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
  Desk desk;
  EXPECT_EQ(desk.decide(keyed("one", "vision", "ada")).job, JobId("one"));
  for (const auto& [job, project, actor] :
       {std::tuple("two", "vision", "bob"), std::tuple("three", "speech", "ada")}) {
    const Decision decided = desk.decide(keyed(job, project, actor));
    EXPECT_FALSE(decided.refusal) << job;
    EXPECT_FALSE(decided.repeated) << job;
    EXPECT_EQ(decided.job, JobId(job));
  }
  EXPECT_TRUE(desk.decide(keyed("one", "vision", "ada")).repeated);
  EXPECT_EQ(desk.decide(keyed("four", "vision", "ada")).refusal->code, Errc::kInvalid);
  EXPECT_EQ(desk.brain.state().keys.size(), 3U);
  desk.pass(Duration::hours(25));
  desk.wake();
  EXPECT_TRUE(desk.brain.state().keys.empty()) << "each expires by its whole name";
  EXPECT_EQ(desk.decide(keyed("five", "vision", "ada")).job, JobId("five"));
}

// A submission that is repeated across an upgrade starts nothing twice.
TEST(Brain, AKeyThatAnEarlierBuildTookAnswersEverybody) {
  Desk desk;
  const model::Submit before = keyed("one", "default", "");
  EXPECT_EQ(desk.decide(before).job, JobId("one"));
  model::Submit again = before;
  again.actor = "ada";
  again.job = JobId("two");
  EXPECT_TRUE(desk.decide(again).repeated);
  EXPECT_EQ(desk.decide(again).job, JobId("one"));
}

TEST(Brain, AnIdempotencyKeyAnswersOnceAndRefusesAnotherBody) {
  Desk desk;
  model::Submit input;
  input.job = JobId("one");
  input.idempotency_key = "k";
  input.body_hash = "h";
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "x";
  spec->steps = {step("s")};
  input.spec = spec;
  EXPECT_EQ(desk.decide(input).job, JobId("one"));
  input.job = JobId("two");
  const Decision again = desk.decide(input);
  EXPECT_TRUE(again.repeated);
  EXPECT_EQ(again.job, JobId("one"));
  EXPECT_TRUE(again.events.empty());
  input.body_hash = "other";
  EXPECT_EQ(desk.decide(input).refusal->code, Errc::kInvalid);
  desk.pass(Duration::hours(25));
  desk.wake();
  EXPECT_TRUE(desk.brain.state().keys.empty());
}

TEST(Brain, WhatCanNeverStartIsRefused) {
  Desk desk;
  desk.join("a", 2);
  auto spec = step("big");
  spec.resources.milli_cpus = 3000;
  const JobId job = desk.submit({spec});
  ASSERT_TRUE(desk.last_refusal.has_value());
  EXPECT_EQ(desk.last_refusal->code, Errc::kInvalid);
  EXPECT_FALSE(desk.brain.state().jobs.contains(job));
}

TEST(Brain, OldFinishedJobsAreArchived) {
  Desk desk;
  desk.join("a", 1);
  for (std::size_t count = 0; count < Limits().finished_jobs + 2; ++count) {
    const JobId job = desk.submit({step("one")});
    desk.ended("a", Desk::ref(job, 0, 0));
  }
  EXPECT_EQ(desk.brain.state().jobs.size(), Limits().finished_jobs);
  EXPECT_EQ(desk.all<model::JobArchived>(desk.history).size(), 2U);
}

TEST(Brain, AnArchivedJobComesBackToBeTriedAgain) {
  Desk desk;
  desk.brain = Brain({}, Limits{.finished_jobs = 0});
  desk.join("a", 1);
  const JobId job = desk.submit({step("one"), step("two", 2, {0})});
  const Decision ended = desk.decide(model::NodeReport{
      NodeId("a"), Incarnation("1"), {Desk::end_of(Desk::ref(job, 0, 0), 1, desk.now)}});
  ASSERT_EQ(ended.archived.size(), 1U);
  const std::string record = encode_job(ended.archived.front());
  ASSERT_FALSE(desk.brain.state().jobs.contains(job));
  const auto ask = [&](Verb verb, const std::string& with) {
    return desk.decide(model::JobRequest{verb, job, "tester", with});
  };
  EXPECT_EQ(ask(Verb::kRetry, "").refusal->code, Errc::kNotFound);
  EXPECT_EQ(ask(Verb::kRetry, "{}").refusal->code, Errc::kCorrupt);
  EXPECT_EQ(ask(Verb::kCancel, record).refusal->code, Errc::kConflict);
  EXPECT_EQ(ask(Verb::kDelete, record).refusal->code, Errc::kNotFound);
  EXPECT_TRUE(desk.last.empty());
  ASSERT_FALSE(ask(Verb::kRetry, record).refusal.has_value());
  EXPECT_EQ(desk.all<model::JobRestored>(desk.last).size(), 1U);
  EXPECT_EQ(desk.task_status(job, 0, 0), Status::kStarting);
  EXPECT_EQ(encode_state(desk.brain.state()), encode_state(desk.replica()));
  EXPECT_TRUE(ask(Verb::kRetry, record).refusal.has_value()) << "it is in the state now";
  desk.ended("a", Desk::ref(job, 0, 0, 2));
  EXPECT_EQ(desk.step_status(job, 0), Status::kSucceeded);
}

TEST(Brain, AMillionTasksCostOneEvent) {
  Desk desk;
  desk.submit({step("many", 1'000'000)});
  EXPECT_EQ(desk.last.size(), 1U);
}

TEST(Brain, APauseWhoseDependencyFailsIsSkipped) {
  Desk desk;
  desk.join("a", 1);
  const JobId job = desk.submit({step("one"), step("after", 1, {0})});
  desk.running("a", Desk::ref(job, 0, 0));
  desk.request(job, Verb::kHalt);
  EXPECT_EQ(desk.step_status(job, 1), Status::kPaused);
  desk.ended("a", Desk::ref(job, 0, 0), 0);
  EXPECT_EQ(desk.step_status(job, 0), Status::kSucceeded) << "it ended before it was stopped";
  EXPECT_EQ(desk.job_status(job), Status::kPaused);
}

}  // namespace
}  // namespace runnel::brain
