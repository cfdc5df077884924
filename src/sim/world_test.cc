#include "sim/world.h"

#include <set>

#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/testing/desk.h"
#include "sim/campaign.h"
#include "sim/history.h"
#include "sim/invariants.h"

namespace runnel::sim {
namespace {

using brain::testing::Desk;
using brain::testing::step;

TEST(Scenario, IsAsLargeAsAScheduleMustBe) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Scenario scenario = scenario_of(seed);
    EXPECT_GE(scenario.nodes.size(), kNodesMin);
    EXPECT_GE(scenario.faults.size(), kFaultsMin);
    std::int64_t tasks = 0;
    for (const auto& job : scenario.jobs) {
      for (const auto& step : job->steps) tasks += step.task_count;
    }
    EXPECT_GE(tasks, kTasksMin);
    std::set<FaultKind> kinds;
    for (const Fault& fault : scenario.faults) kinds.insert(fault.kind);
    EXPECT_GE(kinds.size(), kFaultKindsMin);
  }
}

TEST(World, KeepsEveryPromiseOverTheFirstSeeds) {
  Campaign campaign;
  campaign.add(1, 60);
  for (const Failure& failure : campaign.failures) ADD_FAILURE() << report(failure);
  EXPECT_EQ(campaign.schedules, 60);
  EXPECT_GT(campaign.events, 60 * 50);
}

TEST(World, TheSameSeedGivesTheSameLog) {
  for (std::uint64_t seed : {7U, 8U, 9U}) {
    const Verdict first = run(scenario_of(seed), Hashing::kOn);
    const Verdict second = run(scenario_of(seed), Hashing::kOn);
    EXPECT_EQ(first.log_hash, second.log_hash);
    EXPECT_EQ(first.violation, "");
  }
  EXPECT_NE(run(scenario_of(7), Hashing::kOn).log_hash, run(scenario_of(8), Hashing::kOn).log_hash);
}

TEST(World, EveryFaultKindStrikes) {
  std::set<FaultKind> kinds;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const Fault& fault : scenario_of(seed).faults) kinds.insert(fault.kind);
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kFaultKinds));
}

// The checkers must be able to fail.

model::JobSubmitted submitted(const std::string& job) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = job;
  model::StepSpec step;
  step.name = "s";
  step.command = {"/bin/true"};
  spec->steps.push_back(step);
  return {JobId(job), ProjectId("default"), QueueId("default"), "", "", "", spec};
}

model::AttemptEnded ended(const std::string& job, model::Status task) {
  model::AttemptEnded event;
  event.attempt = {{JobId(job), StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
  event.task = task;
  return event;
}

TEST(History, MissesNoLostJob) {
  Seen seen;
  seen.answers.push_back({"key", JobId("gone")});
  EXPECT_NE(check_history(seen, {submitted("other")}), "");
}

TEST(History, MissesNoDoubleJob) {
  Seen seen;
  seen.answers.push_back({"key", JobId("a")});
  seen.answers.push_back({"key", JobId("b")});
  EXPECT_NE(check_history(seen, {submitted("a"), submitted("b")}), "");
}

TEST(History, MissesNothingToldTooEarly) {
  Seen seen;
  seen.watched.emplace(1, submitted("a"));
  EXPECT_EQ(check_history(seen, {submitted("a")}), "");
  EXPECT_NE(check_history(seen, {submitted("b")}), "");
  EXPECT_NE(check_history(seen, {}), "");
}

TEST(History, MissesNoGap) {
  Seen seen;
  seen.watched.emplace(2, submitted("a"));
  EXPECT_NE(check_history(seen, {submitted("b"), submitted("a")}), "");
}

TEST(History, MissesNoSecondSuccess) {
  const auto once = ended("a", model::Status::kSucceeded);
  auto twice = once;
  twice.attempt.attempt = AttemptNumber(2);
  EXPECT_EQ(check_history({}, {submitted("a"), once}), "");
  EXPECT_NE(check_history({}, {submitted("a"), once, twice}), "");
  EXPECT_NE(check_history({}, {submitted("a"), once, once}), "");
}

TEST(History, MissesNoEndThatIsLeft) {
  const model::JobChanged done{JobId("a"), model::Status::kSucceeded, "Completed", "", "runnel"};
  const model::JobChanged again{JobId("a"), model::Status::kRunning, "Started", "", "runnel"};
  EXPECT_NE(check_history({}, {submitted("a"), done, again}), "");
}

TEST(Invariants, MissNoBudgetThatIsExceeded) {
  Invariants invariants;
  brain::State state;
  EXPECT_EQ(invariants.after({submitted("a")}, state), "");
  const model::LaneExtended bound{
      LaneId(1), JobId("a"), StepIndex(0), {{TaskIndex(0), AttemptNumber(1), {}}}};
  auto charged = ended("a", model::Status::kRecovering);
  charged.charged = true;
  EXPECT_NE(invariants.after({bound, charged}, state), "");
}

TEST(Invariants, MissNoEndThatIsLeft) {
  Invariants invariants;
  brain::State state;
  const model::LaneExtended bound{
      LaneId(1), JobId("a"), StepIndex(0), {{TaskIndex(0), AttemptNumber(1), {}}}};
  EXPECT_EQ(invariants.after({submitted("a"), bound, ended("a", model::Status::kSucceeded)}, state),
            "");
  EXPECT_NE(invariants.after({bound}, state), "");
}

TEST(Invariants, MissNoNodeOverItsCapacity) {
  brain::Brain brain;
  model::NodeJoin join;
  join.node.id = NodeId("n");
  join.node.capacity.milli_cpus = 1000;
  join.incarnation = Incarnation("1");
  brain.decide(join, Time());
  model::Submit submit;
  submit.job = JobId("a");
  auto spec = std::make_shared<model::JobSpec>(*submitted("a").spec);
  spec->steps[0].resources.milli_cpus = 1000;
  submit.spec = spec;
  brain.decide(submit, Time());
  brain::State state = brain.state();
  EXPECT_EQ(check_state(state), "");
  state.nodes.at(NodeId("n")).info.capacity.milli_cpus = 500;
  EXPECT_NE(check_state(state), "");
}

TEST(Invariants, MissNoRetryThatNobodyLookedAt) {
  Desk desk;
  desk.join("n", 1);
  auto spec = step("s");
  spec.retry.max = 1;
  spec.retry.backoff_min = Duration::millis(5);
  spec.retry.backoff_max = Duration::millis(5);
  const JobId job = desk.submit({spec});
  desk.ended("n", Desk::ref(job, 0, 0), 1);
  desk.pass(Duration::millis(900));
  EXPECT_EQ(check_nothing_overdue(desk.brain.state(), desk.now, Duration::seconds(1)), "");
  desk.pass(Duration::millis(200));
  EXPECT_NE(check_nothing_overdue(desk.brain.state(), desk.now, Duration::seconds(1)), "");
  desk.lose("n");
  EXPECT_EQ(check_nothing_overdue(desk.brain.state(), desk.now, Duration::seconds(1)), "")
      << "it waits for room";
}

}  // namespace
}  // namespace runnel::sim
