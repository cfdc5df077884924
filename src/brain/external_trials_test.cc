#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "brain/explain.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::Status;
using model::TrialCall;
using model::TrialEnd;
using testing::BrainHarness;

model::StepSpec outside_step(std::int64_t trials, bool pruned = false) {
  model::StepSpec spec = testing::step("tune", trials);
  spec.run = model::ExternalTrials();
  spec.samples.reset();
  model::Parameter x;
  x.name = "x";
  x.kind = model::Parameter::Kind::kUniform;
  x.low = "0";
  x.high = "1";
  spec.params = {x};
  model::SearchSpec& search = spec.search.emplace();
  search.method = model::SearchSpec::Method::kRandom;
  search.objectives = {{"loss", false}};
  search.max_trials = trials;
  if (pruned) search.pruner = model::PrunerSpec{.eta = 2};
  return spec;
}

class ExternalTrialsTest : public ::testing::Test {
 protected:
  void study(std::int64_t trials, bool pruned = false) {
    job_ = harness_.submit({outside_step(trials, pruned)});
  }

  Decision ask(Duration lease = Duration::seconds(60)) {
    TrialCall call;
    call.job = job_;
    call.lease = lease;
    return harness_.decide(call);
  }
  model::AttemptRef asked() { return ask().attempt.value(); }

  Decision tell(const model::AttemptRef& attempt, std::vector<std::string> values,
                TrialEnd end = TrialEnd::kComplete) {
    TrialCall call = about(attempt, TrialCall::Verb::kTell);
    call.values = std::move(values);
    call.end = end;
    return harness_.decide(call);
  }
  Decision report(const model::AttemptRef& attempt, std::int64_t at, std::string value) {
    TrialCall call = about(attempt, TrialCall::Verb::kReport);
    call.at = at;
    call.values = {std::move(value)};
    return harness_.decide(call);
  }

  static TrialCall about(const model::AttemptRef& attempt, TrialCall::Verb verb) {
    TrialCall call;
    call.verb = verb;
    call.job = attempt.task.job;
    call.step = attempt.task.step;
    call.trial = attempt.task.index;
    call.attempt = attempt.attempt;
    return call;
  }

  const Step& step() const { return step_of(harness_.brain.state(), job_, StepIndex(0)); }
  Status status(std::int64_t trial) const { return status_of(step(), TaskIndex(trial)); }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(ExternalTrialsTest, TakesNoPlaceSoOnlySpotNodesAreEnough) {
  model::NodeJoin join;
  join.node.id = NodeId("spot");
  join.node.capacity.milli_cpus = 2'000;
  join.node.capacity.memory = Bytes::gibi(8);
  join.node.spot = true;
  join.incarnation = Incarnation("1");
  harness_.decide(join);
  study(1);
  EXPECT_FALSE(harness_.last_refusal.has_value());
  EXPECT_TRUE(ask().attempt.has_value());
  harness_.submit({testing::step("plain")});
  EXPECT_TRUE(harness_.last_refusal.has_value()) << "what runs there needs another node";
}

TEST_F(ExternalTrialsTest, NeedsNoNode) {
  study(2);
  const model::AttemptRef first = asked();
  EXPECT_EQ(first.task.index, TaskIndex(0));
  EXPECT_EQ(status(0), Status::kRunning);
  EXPECT_FALSE(tell(first, {"0.5"}).refusal);
  EXPECT_EQ(status(0), Status::kSucceeded);
  EXPECT_FALSE(tell(asked(), {"0.25"}).refusal);
  EXPECT_EQ(step().status, Status::kSucceeded);
  EXPECT_EQ(step().study->best, 1);
  EXPECT_TRUE(harness_.brain.state().lanes.empty());
  EXPECT_FALSE(ask().attempt) << "none is left";
}

TEST_F(ExternalTrialsTest, AsksAtOnceAreAnsweredWithDifferentTrials) {
  study(3);
  EXPECT_EQ(asked().task.index, TaskIndex(0));
  EXPECT_EQ(asked().task.index, TaskIndex(1));
  EXPECT_EQ(asked().task.index, TaskIndex(2));
  const Decision none = ask();
  EXPECT_FALSE(none.attempt);
  EXPECT_FALSE(none.refusal);
  EXPECT_TRUE(none.events.empty());
}

TEST_F(ExternalTrialsTest, ATrialWhoseAskerIsSilentGoesToTheNextWithItsParameters) {
  study(1);
  const model::AttemptRef lost = asked();
  const auto params = step().study->trials[0].params;
  harness_.pass(Duration::seconds(59));
  harness_.wake();
  EXPECT_EQ(status(0), Status::kRunning);
  EXPECT_EQ(harness_.brain.next_wake(harness_.now), harness_.now + Duration::seconds(1));
  harness_.pass(Duration::seconds(1));
  const model::AttemptRef again = asked();
  EXPECT_EQ(again.task, lost.task);
  EXPECT_EQ(again.attempt, AttemptNumber(2));
  EXPECT_EQ(step().study->trials[0].params, params);
  const Decision late = tell(lost, {"0.5"});
  ASSERT_TRUE(late.refusal);
  EXPECT_EQ(late.refusal->code, Errc::kConflict);
  EXPECT_FALSE(tell(again, {"0.75"}).refusal);
  EXPECT_EQ(step().study->trials[0].reports.back().values.front(), "0.75");
}

TEST_F(ExternalTrialsTest, AReportKeepsTheLease) {
  study(1);
  const model::AttemptRef attempt = asked();
  for (int i = 1; i <= 5; ++i) {
    harness_.pass(Duration::seconds(50));
    EXPECT_FALSE(report(attempt, i, "1").refusal);
  }
  EXPECT_FALSE(tell(attempt, {"1"}).refusal);
  EXPECT_EQ(status(0), Status::kSucceeded);
}

TEST_F(ExternalTrialsTest, ManyReportsAreFewEvents) {
  study(1);
  const model::AttemptRef attempt = asked();
  std::size_t events = 0;
  for (int i = 1; i <= 600; ++i) {
    harness_.pass(Duration::millis(100));
    events += report(attempt, i, "1").events.size();
  }
  EXPECT_LE(events, 4u);
}

TEST_F(ExternalTrialsTest, ToldTwiceIsToldOnce) {
  study(2);
  const model::AttemptRef attempt = asked();
  EXPECT_FALSE(tell(attempt, {"0.5"}).repeated);
  const Decision again = tell(attempt, {"0.5"});
  EXPECT_FALSE(again.refusal);
  EXPECT_TRUE(again.repeated);
  EXPECT_TRUE(again.events.empty());
  EXPECT_TRUE(tell(attempt, {"0.6"}).refusal) << "another value";
  EXPECT_TRUE(tell(attempt, {}, TrialEnd::kFailed).refusal) << "another end";
}

TEST_F(ExternalTrialsTest, TheSameEndIsTheSameWhateverItsDigits) {
  study(3);
  const model::AttemptRef whole = asked();
  tell(whole, {"0.5"});
  EXPECT_TRUE(tell(whole, {"0.50"}).repeated);
  EXPECT_TRUE(tell(whole, {"0.5"}, TrialEnd::kFailed).refusal);
  EXPECT_TRUE(tell(whole, {"0.5"}, TrialEnd::kPruned).refusal);
  const model::AttemptRef failed = asked();
  tell(failed, {}, TrialEnd::kFailed);
  EXPECT_TRUE(tell(failed, {"3"}, TrialEnd::kFailed).repeated);
  EXPECT_TRUE(tell(failed, {"3"}).refusal);
  const model::AttemptRef empty = asked();
  tell(empty, {"nan"});
  EXPECT_TRUE(tell(empty, {"nan"}).repeated);
  EXPECT_TRUE(tell(empty, {"1"}).refusal);
}

TEST_F(ExternalTrialsTest, WhoAsksAgainWithTheSameWordGetsWhatItHolds) {
  study(3);
  TrialCall call;
  call.job = job_;
  call.lease = Duration::seconds(60);
  call.holder = "a word";
  const Decision first = harness_.decide(call);
  const Decision again = harness_.decide(call);
  EXPECT_EQ(again.attempt, first.attempt);
  EXPECT_TRUE(again.repeated);
  EXPECT_TRUE(again.events.empty());
  tell(*first.attempt, {"1"});
  EXPECT_NE(harness_.decide(call).attempt, first.attempt) << "it holds nothing any more";
  EXPECT_NE(ask().attempt->task, first.attempt->task);
}

TEST_F(ExternalTrialsTest, AnAskAtTheEndOfALeaseGetsTheTrialUnderParallel) {
  model::StepSpec spec = outside_step(1);
  spec.parallel = 1;
  job_ = harness_.submit({spec});
  EXPECT_TRUE(ask().attempt);
  harness_.pass(Duration::seconds(60));
  EXPECT_TRUE(ask().attempt) << "nobody has looked since it ended";
}

TEST_F(ExternalTrialsTest, ASearchWhoseTimeIsOverWaitsForNobody) {
  model::StepSpec spec = outside_step(1);
  spec.search->max_duration = Duration::seconds(100);
  job_ = harness_.submit({spec});
  EXPECT_TRUE(ask().attempt);
  harness_.pass(Duration::seconds(60));
  harness_.wake();
  EXPECT_EQ(status(0), Status::kRecovering);
  harness_.pass(Duration::seconds(40));
  EXPECT_EQ(harness_.brain.next_wake(harness_.now), harness_.now);
  harness_.wake();
  EXPECT_EQ(status(0), Status::kPruned);
  EXPECT_TRUE(model::is_end(step().status));
}

TEST_F(ExternalTrialsTest, AControlThatWasAwayCountsNobodyAsSilent) {
  study(2);
  const model::AttemptRef one = asked();
  const model::AttemptRef two = asked();
  harness_.pass(Duration::seconds(600));
  harness_.decide(model::Recovered());
  harness_.pass(Duration::seconds(59));
  harness_.wake();
  EXPECT_FALSE(tell(one, {"1"}).refusal);
  EXPECT_FALSE(tell(two, {"1"}).refusal);
  EXPECT_TRUE(harness_.decide(model::Recovered()).events.empty()) << "nobody holds anything";
}

TEST_F(ExternalTrialsTest, AReportWithoutAValueKeepsTheLease) {
  study(1);
  const model::AttemptRef attempt = asked();
  harness_.pass(Duration::seconds(50));
  EXPECT_FALSE(harness_.decide(about(attempt, TrialCall::Verb::kReport)).refusal);
  harness_.pass(Duration::seconds(50));
  EXPECT_FALSE(tell(attempt, {"1"}).refusal);
}

TEST_F(ExternalTrialsTest, ALostTrialStaysLostWhenItsJobIsTriedAgain) {
  study(2);
  const model::AttemptRef lost = asked();
  harness_.pass(Duration::seconds(60));
  harness_.wake();
  harness_.request(job_, model::JobRequest::Verb::kCancel);
  harness_.request(job_, model::JobRequest::Verb::kRetry);
  EXPECT_EQ(status(0), Status::kQueued);
  EXPECT_TRUE(tell(lost, {}, TrialEnd::kFailed).refusal) << "it did not fail: nobody heard of it";
  EXPECT_TRUE(tell(lost, {"1"}).refusal);
  EXPECT_EQ(asked().attempt, AttemptNumber(2));
}

TEST_F(ExternalTrialsTest, AFailedTrialFollowsTheRetryPolicy) {
  model::StepSpec spec = outside_step(1);
  spec.retry.max = 1;
  job_ = harness_.submit({spec});
  const model::AttemptRef first = asked();
  EXPECT_FALSE(tell(first, {}, TrialEnd::kFailed).refusal);
  EXPECT_TRUE(tell(first, {}, TrialEnd::kFailed).repeated);
  const model::AttemptRef second = asked();
  EXPECT_EQ(second.attempt, AttemptNumber(2));
  EXPECT_FALSE(tell(second, {}, TrialEnd::kFailed).refusal);
  EXPECT_EQ(status(0), Status::kFailed);
  EXPECT_EQ(step().status, Status::kFailed);
}

TEST_F(ExternalTrialsTest, AValueThatIsNoNumberFailsTheTrial) {
  study(1);
  EXPECT_FALSE(tell(asked(), {"nan"}).refusal);
  EXPECT_EQ(status(0), Status::kFailed);
}

TEST_F(ExternalTrialsTest, WrongValuesAreRefusedAndTheTrialGoesOn) {
  study(1);
  const model::AttemptRef attempt = asked();
  EXPECT_EQ(tell(attempt, {"1", "2"}).refusal->code, Errc::kInvalid);
  EXPECT_EQ(tell(attempt, {}).refusal->code, Errc::kInvalid);
  EXPECT_EQ(status(0), Status::kRunning);
  EXPECT_FALSE(report(attempt, 1, "0.5").refusal);
}

TEST_F(ExternalTrialsTest, TrialsThatNobodyAskedForAreNotThere) {
  study(2);
  const model::AttemptRef attempt = asked();
  EXPECT_EQ(tell(BrainHarness::ref(job_, 0, 1), {"1"}).refusal->code, Errc::kNotFound);
  EXPECT_EQ(tell({attempt.task, AttemptNumber(2)}, {"1"}).refusal->code, Errc::kNotFound);
  EXPECT_EQ(tell({attempt.task, AttemptNumber(0)}, {"1"}).refusal->code, Errc::kNotFound);
}

TEST_F(ExternalTrialsTest, APrunedTrialIsToldSoAtItsReport) {
  study(8, true);
  const model::AttemptRef good = asked();
  const model::AttemptRef bad = asked();
  EXPECT_FALSE(report(good, 1, "1").repeated);
  EXPECT_EQ(status(0), Status::kRunning);
  report(bad, 1, "2");
  EXPECT_EQ(status(1), Status::kPruned);
  EXPECT_TRUE(report(bad, 2, "2").repeated) << "it is over";
  EXPECT_TRUE(tell(bad, {"2"}).repeated);
  EXPECT_EQ(step().study->trials[1].told, TrialEnd::kPruned);
}

TEST_F(ExternalTrialsTest, ATellOfATrialThatThePrunerPausedIsToldSo) {
  model::StepSpec spec = outside_step(8, true);
  spec.checkpoint = model::CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  job_ = harness_.submit({spec});
  const model::AttemptRef good = asked();
  const model::AttemptRef bad = asked();
  report(good, 1, "1");
  report(bad, 1, "2");
  ASSERT_EQ(status(1), Status::kPaused);
  const std::string paused = "trial 1 was paused by the pruner";
  EXPECT_EQ(tell(bad, {"2"}).refusal->message, paused);
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  EXPECT_EQ(tell(bad, {"2"}).refusal->message, paused) << "the halt did not take it back";
  harness_.request(job_, model::JobRequest::Verb::kResume);
  const model::AttemptRef again = asked();
  const model::AttemptRef third = asked();
  const model::AttemptRef fourth = asked();
  for (const model::AttemptRef& each : {again, third, fourth}) report(each, 1, "9");
  ASSERT_EQ(status(1), Status::kQueued) << "it is among the best half now";
  EXPECT_EQ(tell(bad, {"2"}).refusal->message, paused + ", and goes on with who asks next");
}

TEST_F(ExternalTrialsTest, AnAskerMayPrune) {
  study(2);
  const model::AttemptRef attempt = asked();
  report(attempt, 3, "7");
  TrialCall call = about(attempt, TrialCall::Verb::kTell);
  call.end = TrialEnd::kPruned;
  call.at = 3;
  call.values = {"7"};
  EXPECT_FALSE(harness_.decide(call).refusal);
  EXPECT_EQ(status(0), Status::kPruned);
  EXPECT_EQ(step().study->trials[0].reports.back(), (TrialReport{3, {"7"}, AttemptNumber(1)}));
  EXPECT_EQ(step().study->best, 0) << "of those that came furthest";
}

TEST_F(ExternalTrialsTest, ParallelHoldsForAskersToo) {
  model::StepSpec spec = outside_step(3);
  spec.parallel = 1;
  job_ = harness_.submit({spec});
  const model::AttemptRef attempt = asked();
  EXPECT_FALSE(ask().attempt);
  tell(attempt, {"1"});
  EXPECT_TRUE(ask().attempt);
}

TEST_F(ExternalTrialsTest, HaltAndCancelEndWhatIsHeld) {
  study(2);
  const model::AttemptRef attempt = asked();
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  EXPECT_EQ(status(0), Status::kPaused);
  EXPECT_EQ(ask().refusal->code, Errc::kConflict);
  EXPECT_NE(tell(attempt, {"1"}).refusal->message.find("taken back when its study was halted"),
            std::string::npos);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  const Decision after = tell(attempt, {"1"});
  EXPECT_NE(after.refusal->message.find("taken back"), std::string::npos) << "it is queued";
  const model::AttemptRef again = asked();
  EXPECT_EQ(again.task, attempt.task);
  harness_.request(job_, model::JobRequest::Verb::kCancel);
  EXPECT_EQ(status(0), Status::kCancelled);
  EXPECT_EQ(harness_.brain.state().jobs.at(job_).status, Status::kCancelled);
  EXPECT_TRUE(harness_.brain.state().lanes.empty());
}

TEST_F(ExternalTrialsTest, WaitsForTheStepsBeforeIt) {
  harness_.join("a", 1);
  model::StepSpec after = outside_step(1);
  after.depends_on = {StepIndex(0)};
  job_ = harness_.submit({testing::step("prepare"), after});
  TrialCall call;
  call.job = job_;
  call.step = StepIndex(1);
  call.lease = Duration::seconds(60);
  EXPECT_EQ(harness_.decide(call).refusal->code, Errc::kConflict);
  harness_.ended("a", BrainHarness::ref(job_, 0, 0));
  EXPECT_TRUE(harness_.decide(call).attempt);
}

TEST_F(ExternalTrialsTest, LearnsFromEarlierStudies) {
  model::StepSpec spec = outside_step(10);
  spec.search->method = model::SearchSpec::Method::kTpe;
  for (int i = 0; i < 60; ++i) {
    const double x = i / 60.0;
    spec.search->from.push_back({{{"x", std::to_string(x)}}, {std::to_string(std::abs(x - 0.8))}});
  }
  spec.search->from.push_back({{{"x", "7"}}, {"0"}});    // Not possible here.
  spec.search->from.push_back({{{"x", "0"}}, {"nan"}});  // Nothing to learn.
  job_ = harness_.submit({spec});
  for (int i = 0; i < 10; ++i) {
    const model::AttemptRef attempt = asked();
    const std::string x = step().study->trials.back().params.front().second;
    EXPECT_NEAR(std::stod(x), 0.8, 0.2) << "trial " << i;
    tell(attempt, {std::to_string(std::abs(std::stod(x) - 0.8))});
  }
  EXPECT_EQ(step().study->trials.size(), 10u) << "the earlier ones are not the study's";
}

TEST_F(ExternalTrialsTest, WhoLearnsFromAStudyDrawsNoneOfItsTrialsAgain) {
  model::StepSpec spec = outside_step(8);
  spec.search->method = model::SearchSpec::Method::kRandom;
  std::set<std::string> drawn;
  for (int study = 0; study < 3; ++study) {
    job_ = harness_.submit({spec});
    for (int i = 0; i < 8; ++i) {
      const model::AttemptRef attempt = asked();
      const std::string x = step().study->trials.back().params.front().second;
      EXPECT_TRUE(drawn.insert(x).second) << "trial " << i << " of study " << study;
      tell(attempt, {"1"});
      if (i < 5) spec.search->from.push_back({{{"x", x}}, {"1"}});
    }
  }
}

TEST_F(ExternalTrialsTest, AStepThatIsRunHereCannotBeAsked) {
  model::StepSpec spec = outside_step(1);
  spec.run = model::Command::words({"/bin/true"});
  job_ = harness_.submit({spec});
  EXPECT_EQ(ask().refusal->code, Errc::kConflict);
}

TEST_F(ExternalTrialsTest, WhoAsksWhyIsToldToAsk) {
  study(2);
  const auto waits = harness_.brain.explain(job_, harness_.now);
  ASSERT_TRUE(waits.ok());
  EXPECT_EQ(waits->front().reason, "NotAsked");
  EXPECT_EQ(waits->front().remedy, "runnel study ask " + job_.str());
}

// What a control does that comes back: many open studies do not keep it from opening.
TEST_F(ExternalTrialsTest, SearchesThatGoOnAreCaughtUpAsFarAsTheyAreFew) {
  for (int each = 0; each < 3; ++each) {
    study(10);
    tell(asked(), {"1"});
    tell(asked(), {"2"});
  }
  const auto caught_up = [this](std::size_t trials_max) {
    return Brain(harness_.brain.state()).catch_up_searches(trials_max);
  };
  EXPECT_EQ(caught_up(Brain::kCaughtUpMax), 3U);
  EXPECT_EQ(caught_up(5), 2U);
  EXPECT_EQ(caught_up(1), 0U);
  harness_.decide(model::JobRequest{model::JobRequest::Verb::kHalt, job_, "ann", ""});
  EXPECT_EQ(caught_up(Brain::kCaughtUpMax), 2U);
}

TEST_F(ExternalTrialsTest, ASearchWithManyEarlierTrialsIsCaughtUpByNobody) {
  model::StepSpec spec = outside_step(10);
  spec.search->from.assign(Brain::kCaughtUpMax, {{{"x", "0.5"}}, {"1"}});
  job_ = harness_.submit({spec});
  tell(asked(), {"1"});
  study(10);
  tell(asked(), {"1"});
  EXPECT_EQ(Brain(harness_.brain.state()).catch_up_searches(), 1U) << "the other one";
  EXPECT_EQ(Brain(harness_.brain.state()).catch_up_searches(2 * Brain::kCaughtUpMax), 2U);
}

// The search goes on as if it had been told on the way.
TEST_F(ExternalTrialsTest, ACaughtUpSearchAsksForTheSame) {
  study(10);
  tell(asked(), {"1"});
  Brain again(harness_.brain.state());
  EXPECT_EQ(again.catch_up_searches(), 1U);
  TrialCall call;
  call.job = job_;
  call.lease = Duration::seconds(60);
  const Decision decision = again.decide(call, harness_.now);
  EXPECT_EQ(decision.events, harness_.decide(call).events);
}

}  // namespace
}  // namespace runnel::brain
