#include "sim/world.h"

#include <csignal>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/testing/brain_harness.h"
#include "control/event_ring.h"
#include "model/codec.h"
#include "sim/campaign.h"
#include "sim/child.h"
#include "sim/history.h"
#include "sim/invariants.h"
#include "sim/overdue.h"

namespace runnel::sim {
namespace {

using brain::testing::BrainHarness;
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

// With no other faults the bound is the one that is promised for each poison task.
TEST(World, PoisonAloneHoldsToTheBound) {
  std::int64_t found_out = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Scenario scenario = scenario_of(seed);
    if (!scenario.poisoned()) continue;
    scenario.faults.clear();
    std::erase_if(scenario.wishes, [](const Wish& wish) { return !wish.submit; });
    const Verdict verdict = run(scenario, Depth::kUsual);
    EXPECT_EQ(verdict.violation, "") << "seed " << seed;
    found_out += verdict.apart[static_cast<std::size_t>(Apart::kFoundOut)];
  }
  EXPECT_GT(found_out, 50);
}

// A hand that kills the runners, whatever runs there, is never taken for a task.
TEST(World, AHandThatKillsRunnersAccusesNobody) {
  std::int64_t suspects = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Scenario scenario = scenario_of(seed);
    if (scenario.poisoned()) continue;
    scenario.faults.clear();
    add_hand(scenario);
    const Verdict verdict = run(scenario, Depth::kUsual);
    EXPECT_EQ(verdict.violation, "") << "seed " << seed;
    suspects += verdict.apart[static_cast<std::size_t>(Apart::kSuspects)];
  }
  EXPECT_GT(suspects, 300);
}

TEST(World, TheSameSeedGivesTheSameLog) {
  for (std::uint64_t seed : {7U, 8U, 9U}) {
    const Verdict first = run(scenario_of(seed), Depth::kAll);
    const Verdict second = run(scenario_of(seed), Depth::kAll);
    EXPECT_EQ(first.log_hash, second.log_hash);
    EXPECT_EQ(first.violation, "");
  }
  EXPECT_NE(run(scenario_of(7), Depth::kAll).log_hash, run(scenario_of(8), Depth::kAll).log_hash);
}

TEST(Scenario, HasExternalTrials) {
  std::int64_t outside = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const auto& job : scenario_of(seed).jobs) {
      for (const model::StepSpec& each : job->steps)
        outside += each.is_external() ? each.task_count : 0;
    }
  }
  EXPECT_GT(outside, 200) << "too few trials are run outside for the campaign to say much";
}

TEST(World, EveryFaultKindStrikes) {
  std::set<FaultKind> kinds;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    for (const Fault& fault : scenario_of(seed).faults) kinds.insert(fault.kind);
  }
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(kFaultKinds));
}

// What a claim may name. A Gaussian process is too slow to come often.
TEST(World, GoesWhereNotEveryJobDoes) {
  Campaign campaign;
  campaign.add(1, 200);
  for (const Failure& failure : campaign.failures) ADD_FAILURE() << report(failure);
  for (std::size_t what = 0; what < campaign.reach.size(); ++what) {
    if (what == static_cast<std::size_t>(Reach::kGp)) continue;
    EXPECT_GT(campaign.reach[what], 0) << reach_lines(campaign.reach);
  }
}

// The checkers must be able to fail.

model::JobSubmitted submitted(const std::string& job) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = job;
  model::StepSpec step;
  step.name = "s";
  step.run = model::Command::words({"/bin/true"});
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
  seen.answers.push_back({{{}, {}, "key"}, JobId("gone")});
  EXPECT_NE(check_history(seen, {submitted("other")}), "");
}

TEST(History, MissesNoDoubleJob) {
  auto first = submitted("a");
  auto second = submitted("b");
  first.idempotency_key = second.idempotency_key = "key";
  EXPECT_EQ(check_history({}, {first}), "");
  EXPECT_NE(check_history({}, {first, second}), "");
  EXPECT_EQ(check_history({}, {first, model::KeyExpired{"key"}, second}), "");
  second.actor = "bob";
  EXPECT_EQ(check_history({}, {first, second}), "") << "it is bob's key";
  first.actor = "bob";
  EXPECT_NE(check_history({}, {first, second}), "");
  first.actor = "";
  Seen seen;
  seen.answers.push_back({{{}, {}, "other key"}, JobId("a")});
  EXPECT_NE(check_history(seen, {first}), "");
}

TEST(History, MissesNothingOfAJobThatHasLeft) {
  const model::JobChanged done{JobId("a"), model::Status::kSucceeded, "Completed", "", "runnel"};
  const model::JobArchived left{JobId("a")};
  EXPECT_EQ(check_history({}, {submitted("a"), done, left}), "");
  EXPECT_NE(check_history({}, {submitted("a"), left}), "");
  EXPECT_NE(check_history({}, {submitted("a"), done, left, done}), "");
}

// A log of one batch each, as its text has it, and what a watcher is shown of it.
std::map<std::int64_t, store::Batch> log_of(const std::vector<std::vector<model::Event>>& batches) {
  std::map<std::int64_t, store::Batch> log;
  EventSeq next(1);
  for (const std::vector<model::Event>& events : batches) {
    store::Batch batch;
    batch.seq = BatchSeq(std::ssize(log) + 1);
    batch.first_event = next;
    batch.event_count = std::ssize(events);
    for (const model::Event& event : events) batch.events += "," + model::encode_text(event);
    batch.events = "[" + batch.events.substr(1) + "]";
    next = batch.next_event();
    log.emplace(batch.seq.value(), std::move(batch));
  }
  return log;
}

std::string shown(std::int64_t seq, const model::Event& event) {
  return control::event_document(EventSeq(seq), Time(), model::encode_text(event));
}

TEST(Shown, MissesNothingToldTooEarly) {
  Seen seen;
  seen.watched.emplace(1, shown(1, submitted("a")));
  EXPECT_EQ(check_shown(seen, log_of({{submitted("a")}})), "");
  EXPECT_EQ(check_shown(seen, log_of({{submitted("a"), submitted("b")}})), "");
  EXPECT_NE(check_shown(seen, log_of({{submitted("b")}})), "");
  EXPECT_NE(check_shown(seen, {}), "");
  seen.watched.emplace(2, shown(2, submitted("b")));
  EXPECT_EQ(check_shown(seen, log_of({{submitted("a"), submitted("b")}})), "");
  EXPECT_EQ(check_shown(seen, log_of({{submitted("a")}, {submitted("b")}})), "");
  EXPECT_NE(check_shown(seen, log_of({{submitted("a"), submitted("c")}})), "");
  EXPECT_NE(check_shown(seen, log_of({{submitted("a")}})), "");
}

TEST(Shown, MissesNoGap) {
  Seen seen;
  seen.watched.emplace(2, shown(2, submitted("a")));
  EXPECT_NE(check_shown(seen, log_of({{submitted("b"), submitted("a")}})), "");
}

TEST(Shown, MissesNoOtherNumberOrTime) {
  const auto log = log_of({{submitted("a")}});
  Seen seen;
  seen.watched[1] = shown(2, submitted("a"));
  EXPECT_NE(check_shown(seen, log), "");
  seen.watched[1] = control::event_document(EventSeq(1), Time::from_millis(5),
                                            model::encode_text(model::Event(submitted("a"))));
  EXPECT_NE(check_shown(seen, log), "");
}

// A CHECK that breaks, or worse, costs one schedule.
TEST(Child, TellsHowItEnded) {
  EXPECT_EQ(Child([] { return std::string("done"); }).end().text, "done");
  const ChildEnd broke = Child([]() -> std::string {
                           CHECK(std::string("a").empty(), "the sky fell");
                           return "";
                         }).end();
  EXPECT_THAT(broke.died, ::testing::HasSubstr("the sky fell"));
  const ChildEnd killed = Child([]() -> std::string {
                            raise(SIGKILL);
                            return "";
                          }).end();
  EXPECT_EQ(killed.died, "died of signal 9");
}

TEST(Campaign, GoesByTextFromProcessToProcess) {
  Campaign whole;
  whole.add(7, 12);
  Campaign parts;
  parts.add_in_child(7, 12);
  EXPECT_EQ(parts.text(), whole.text());
  EXPECT_FALSE(parts.merge_text("half"));
}

TEST(History, MissesNoSecondSuccess) {
  const auto once = ended("a", model::Status::kSucceeded);
  auto twice = once;
  twice.attempt.attempt = AttemptNumber(2);
  EXPECT_EQ(check_history({}, {submitted("a"), once}), "");
  EXPECT_NE(check_history({}, {submitted("a"), once, twice}), "");
  EXPECT_NE(check_history({}, {submitted("a"), once, once}), "");
}

TEST(History, MissesNoTellThatIsForgotten) {
  const auto whole = ended("a", model::Status::kSucceeded);
  auto lost = whole;
  lost.to = lost.task = model::Status::kNodeFail;
  Seen seen;
  seen.tells.push_back({whole.attempt, model::TrialEnd::kComplete});
  EXPECT_NE(check_history(seen, {submitted("a")}), "") << "taken, and not in the log";
  EXPECT_EQ(check_history(seen, {submitted("a"), whole}), "");
  EXPECT_NE(check_history(seen, {submitted("a"), lost}), "") << "taken, and lost all the same";
  seen.tells.back().end = model::TrialEnd::kFailed;
  EXPECT_NE(check_history(seen, {submitted("a"), whole}), "") << "a failure that succeeded";
}

TEST(History, MissesNoEndThatIsLeft) {
  const model::JobChanged done{JobId("a"), model::Status::kSucceeded, "Completed", "", "runnel"};
  const model::JobChanged again{JobId("a"), model::Status::kRunning, "Started", "", "runnel"};
  EXPECT_NE(check_history({}, {submitted("a"), done, again}), "");
}

// One job "a" of one step on one node, and the events that follow.
class InvariantsTest : public ::testing::Test {
 protected:
  using Events = std::vector<model::Event>;

  InvariantsTest() {
    spec_ = std::make_shared<model::JobSpec>(*submitted("a").spec);
    spec_->steps[0].retry.max = 1;
  }

  std::string see(const Events& events, const model::Input& input = model::Wake{}) {
    auto job = submitted("a");
    job.spec = spec_;
    model::NodeJoined node;
    node.node.id = NodeId("n");
    Events all = {node, job};
    all.insert(all.end(), events.begin(), events.end());
    return Invariants().after(input, all, {});
  }
  static model::LaneOpened lane(int number, int step = 0) {
    model::LaneOpened event;
    event.lane = LaneId(number);
    event.job = JobId("a");
    event.step = StepIndex(step);
    event.holding = model::Places{{{NodeId("n"), 1}}};
    return event;
  }
  static model::LaneExtended bound(int attempt = 1) {
    return {LaneId(1), JobId("a"), StepIndex(0), {{TaskIndex(0), AttemptNumber(attempt), {}}}};
  }
  static model::AttemptEnded failed(model::Status task, bool charged) {
    auto event = ended("a", task);
    event.to = model::Status::kFailed;
    event.fault = model::Fault::kUser;
    event.charged = charged;
    event.first_failed = 0;
    event.exits = {{0, 85, 0}};
    return event;
  }

  std::shared_ptr<model::JobSpec> spec_;
};

using model::Status;

TEST_F(InvariantsTest, MissNoBudgetThatIsExceeded) {
  const auto again = failed(Status::kRecovering, true);
  EXPECT_EQ(see({lane(1), bound(), again}), "");
  EXPECT_NE(see({lane(1), bound(), again, bound(2), again}), "");
  EXPECT_EQ(see({lane(1), bound(), again, bound(2), failed(Status::kFailed, false)}), "");
}

TEST_F(InvariantsTest, MissNoFailureThatIsForgivenOrNot) {
  EXPECT_NE(see({lane(1), bound(), failed(Status::kFailed, false)}), "") << "budget is left";
  EXPECT_NE(see({lane(1), bound(), failed(Status::kRecovering, false)}), "") << "for free";
  spec_->steps[0].retry.on_exit_codes = {75};
  EXPECT_EQ(see({lane(1), bound(), failed(Status::kFailed, false)}), "") << "not one of its codes";
  EXPECT_NE(see({lane(1), bound(), failed(Status::kRecovering, true)}), "");
}

TEST_F(InvariantsTest, KnowACheckpointFromAnExcuse) {
  auto saved = failed(Status::kRecovering, false);
  saved.to = Status::kPreempted;
  saved.fault = model::Fault::kNone;
  EXPECT_NE(see({lane(1), bound(), saved}), "");
  spec_->steps[0].checkpoint = model::CheckpointPolicy{"ckpt", Duration::seconds(1), 85};
  EXPECT_EQ(see({lane(1), bound(), saved}), "");
}

TEST_F(InvariantsTest, MissNoEndThatIsLeft) {
  const auto success = ended("a", Status::kSucceeded);
  EXPECT_EQ(see({lane(1), bound(), success}), "");
  EXPECT_NE(see({lane(1), bound(), success, bound(2)}), "");
}

TEST_F(InvariantsTest, MissNoStepBeforeWhatItNeeds) {
  model::StepSpec after = spec_->steps[0];
  after.depends_on = {StepIndex(0)};
  spec_->steps.push_back(after);
  const model::StepChanged runs{JobId("a"), StepIndex(0), Status::kRunning, "", ""};
  const model::StepChanged done{JobId("a"), StepIndex(0), Status::kSucceeded, "", ""};
  EXPECT_EQ(see({runs, done, lane(1, 1)}), "");
  EXPECT_NE(see({runs, lane(1, 1)}), "");
  EXPECT_NE(see({runs, done, runs}), "") << "a step does not leave its end";
}

TEST_F(InvariantsTest, MissNoWorkForANodeThatIsDown) {
  EXPECT_NE(see({model::NodeLeft{NodeId("n"), Incarnation("1"), "Left"}, lane(1)}), "");
  EXPECT_NE(see({lane(1), model::NodeLeft{NodeId("n"), Incarnation("1"), "Left"}, bound()}), "");
}

TEST_F(InvariantsTest, MissNoPauseThatNobodyAskedFor) {
  const model::TasksChanged paused{JobId("a"), StepIndex(0), {{0, 1}}, Status::kPaused, "", ""};
  const model::JobRequest halt{model::JobRequest::Verb::kHalt, JobId("a"), "ann"};
  EXPECT_EQ(see({paused}, halt), "");
  EXPECT_NE(see({paused}), "");
  EXPECT_NE(see({paused}, model::JobRequest{model::JobRequest::Verb::kHalt, JobId("b"), ""}), "");
  const model::AttemptStopping asked{ended("a", Status::kPaused).attempt, LaneId(1),
                                     Status::kPaused, "ann"};
  EXPECT_EQ(see({lane(1), bound(), asked, ended("a", Status::kPaused)}, halt), "");
  EXPECT_NE(see({lane(1), bound(), ended("a", Status::kPaused)}, halt), "");
}

TEST(Invariants, MissNoNodeOverItsCapacity) {
  brain::Brain brain;
  model::NodeJoin join;
  join.node.id = NodeId("n");
  join.node.capacity.milli_cpus = 1000;
  join.incarnation = Incarnation("1");
  Invariants small;
  EXPECT_EQ(small.after(join, brain.decide(join, Time()).events, brain.state()), "");
  Invariants smaller = small;
  Invariants idle = small;
  model::Submit submit;
  submit.job = JobId("a");
  auto spec = std::make_shared<model::JobSpec>(*submitted("a").spec);
  spec->steps[0].resources.milli_cpus = 1000;
  submit.spec = spec;
  const std::vector<model::Event> opened = brain.decide(submit, Time()).events;
  brain::State state = brain.state();
  EXPECT_EQ(small.after(submit, opened, state), "");
  state.nodes.at(NodeId("n")).info.capacity.milli_cpus = 500;
  EXPECT_NE(smaller.after(submit, opened, state), "");
  EXPECT_EQ(idle.after(join, {}, state), "") << "it came back smaller, and nothing opens there";
}

TEST(Invariants, MissNoWorkForANodeThatIsHeldBack) {
  brain::Brain brain;
  model::NodeJoin join;
  join.node.id = NodeId("n");
  join.node.capacity = {.milli_cpus = 1000, .accelerators = {{"H100", 1}}};
  join.incarnation = Incarnation("1");
  Invariants whole;
  EXPECT_EQ(whole.after(join, brain.decide(join, Time()).events, brain.state()), "");
  model::Submit submit;
  submit.job = JobId("a");
  auto spec = std::make_shared<model::JobSpec>(*submitted("a").spec);
  spec->steps[0].resources.accelerators["H100"] = 1;
  submit.spec = spec;
  const std::vector<model::Event> opened = brain.decide(submit, Time()).events;
  brain::State state = brain.state();
  Invariants drained = whole;
  Invariants withheld = whole;
  EXPECT_EQ(whole.after(submit, opened, state), "");
  state.nodes.at(NodeId("n")).info.withholds_devices = true;
  EXPECT_NE(withheld.after(submit, opened, state), "");
  state.nodes.at(NodeId("n")).info = {.id = NodeId("n"), .draining = true};
  EXPECT_NE(drained.after(submit, opened, state), "");
}

TEST(Invariants, MissNoDeclarationThatIsNotInForce) {
  BrainHarness harness;
  harness.join("n", 1);
  const brain::State before = harness.brain.state();
  model::NodesDeclared declared{{before.nodes.at(NodeId("n")).info}};
  Invariants whole;
  EXPECT_EQ(whole.after(declared, {}, before), "");
  declared.nodes.front().draining = true;
  EXPECT_NE(whole.after(declared, {}, before), "");
  declared.nodes.clear();
  EXPECT_NE(whole.after(declared, {}, before), "");
}

TEST(Invariants, MissNoRetryThatNobodyLookedAt) {
  BrainHarness harness;
  harness.join("n", 1);
  auto spec = step("s");
  spec.retry.max = 1;
  spec.retry.backoff_min = Duration::millis(5);
  spec.retry.backoff_max = Duration::millis(5);
  const JobId job = harness.submit({spec});
  harness.ended("n", BrainHarness::ref(job, 0, 0), 1);
  harness.pass(Duration::millis(900));
  EXPECT_EQ(check_nothing_overdue(harness.brain.state(), harness.now, Duration::seconds(1)), "");
  harness.pass(Duration::millis(200));
  EXPECT_NE(check_nothing_overdue(harness.brain.state(), harness.now, Duration::seconds(1)), "");
  harness.lose("n");
  EXPECT_EQ(check_nothing_overdue(harness.brain.state(), harness.now, Duration::seconds(1)), "")
      << "it waits for room";
}

}  // namespace
}  // namespace runnel::sim
