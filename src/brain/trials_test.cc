#include "brain/trials.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"
#include "sched/plan.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;
using Reports = std::vector<model::RankReport>;

constexpr const char* kNode = "n1";

// A search of the least loss over one number.
model::StepSpec search_step(std::int64_t trials, bool pruned = false, bool keeps = false) {
  model::StepSpec step = testing::step("search", trials);
  step.samples.reset();
  step.params = {{.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  model::SearchSpec& search = step.search.emplace();
  search.method = model::SearchSpec::Method::kTpe;
  search.objectives = {{"loss", false}};
  search.max_trials = trials;
  if (pruned) search.pruner = model::PrunerSpec{.eta = 2};
  if (keeps) step.checkpoint = model::CheckpointPolicy{"ckpt", Duration(), std::nullopt};
  return step;
}

class TrialsTest : public ::testing::Test {
 protected:
  JobId begin(model::StepSpec step, std::int64_t cpus = 1) {
    harness_.join(kNode, cpus);
    job_ = harness_.submit({std::move(step)});
    return job_;
  }
  // One of 4 cpus is free while a trial takes two: kept for the next one, for which it would do
  // once the other job has ended.
  void begin_beside_another(model::StepSpec step) {
    harness_.join(kNode, 4);
    harness_.submit({testing::step("other")});
    job_ = harness_.submit({std::move(step)});
  }
  model::MetricReport metric(std::int64_t trial, std::int64_t at, std::string value,
                             bool last = false, int attempt = 1) const {
    return {BrainHarness::ref(job_, 0, trial, attempt), at, {{"loss", std::move(value)}}, last};
  }
  void told(std::vector<model::MetricReport> metrics, Reports ranks = {}) {
    harness_.decide(
        model::NodeReport{NodeId(kNode), Incarnation("1"), std::move(ranks), std::move(metrics)});
  }
  void ends(std::int64_t trial, std::string value, int attempt = 1, std::int64_t at = 10) {
    told({metric(trial, at, std::move(value), true, attempt)},
         {BrainHarness::end_of(BrainHarness::ref(job_, 0, trial, attempt), 0, harness_.now)});
  }
  // A node of one core that costs a tenth of a cent a second.
  void join_priced() {
    model::NodeJoin join;
    join.node.id = NodeId(kNode);
    join.node.capacity.milli_cpus = 1'000;
    join.node.capacity.memory = Bytes::gibi(8);
    join.node.price = Money::micros(3'600'000);
    join.incarnation = Incarnation("1");
    harness_.decide(join);
  }
  const Study& study() const { return *step_of(harness_.brain.state(), job_, StepIndex(0)).study; }
  Status status(std::int64_t trial) const { return harness_.task_status(job_, 0, trial); }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(TrialsTest, AsksOnlyForWhatHasRoom) {
  begin(search_step(4), 2);
  EXPECT_EQ(study().trials.size(), 2U);
  EXPECT_EQ(study().trials[0].params.front().first, "x");
  EXPECT_NE(study().trials[0].params, study().trials[1].params);
}

TEST_F(TrialsTest, FindsTheBestAndSucceeds) {
  begin(search_step(3));
  ends(0, "0.5");
  ends(1, "0.2");
  ends(2, "0.9");
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(study().best, 1);
}

TEST_F(TrialsTest, GivesTheBestParametersToTheNextStep) {
  harness_.join(kNode, 1);
  model::StepSpec train = testing::step("train", 1, {0});
  train.run = model::Command::words({"/bin/echo", "{{best.search.x}}"});
  job_ = harness_.submit({search_step(1), train});
  ends(0, "0.5");
  const auto order =
      start_order(harness_.brain.state(), BrainHarness::ref(job_, 1, 0), NodeId(kNode));
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->argv.at(1), study().trials[0].params.front().second);
}

TEST_F(TrialsTest, WarnsOfAMetricThatIsMisspelt) {
  begin(search_step(3), 3);
  const auto report = [this](std::int64_t trial, const std::string& name, bool last = false) {
    model::MetricReport made = metric(trial, 1, "0.5", last);
    made.values = {{"accuracy", "0.5"}, {name, "2"}};
    told({made});
    return harness_.all<model::TaskWarned>(harness_.last);
  };
  EXPECT_TRUE(report(0, "seconds").empty()) << "the metric may come later, beside others";
  EXPECT_TRUE(report(0, "los", true).empty()) << "its failure says so";
  const auto warned = report(1, "los");
  ASSERT_EQ(warned.size(), 1U);
  EXPECT_EQ(warned[0].attempt, BrainHarness::ref(job_, 0, 1));
  EXPECT_EQ(warned[0].reason, model::HealthProblem::kMetricMissing);
  EXPECT_EQ(warned[0].message,
            "it reported 'los' at step 1 and not 'loss', by which the search compares trials: is "
            "that misspelt?");
  EXPECT_TRUE(report(2, "los").empty()) << "one word is enough";
}

TEST_F(TrialsTest, WarnsOfNoNameThatMayBeAnotherMetric) {
  begin(search_step(2), 2);
  model::MetricReport other = metric(0, 1, "0.5");
  other.values = {{"los", "0.5"}};
  told({other, metric(0, 1, "3")});  // A line each.
  EXPECT_TRUE(harness_.all<model::TaskWarned>(harness_.history).empty());
}

TEST_F(TrialsTest, WarnsOfNoSiblingOfTheMetric) {
  model::StepSpec step = search_step(1);
  step.search->objectives = {{"top1", true}};
  begin(step);
  model::MetricReport other = metric(0, 1, "0.5");
  other.values = {{"top5", "0.5"}};
  told({other});
  EXPECT_TRUE(harness_.all<model::TaskWarned>(harness_.history).empty());
}

TEST_F(TrialsTest, WarnsOfNoOtherObjective) {
  model::StepSpec step = search_step(1);
  step.search->objectives = {{"accuracy", true}, {"acuracy", true}};
  step.search->method = model::SearchSpec::Method::kNsga2;
  begin(step);
  model::MetricReport other = metric(0, 1, "0.5");
  other.values = {{"acuracy", "0.5"}};
  told({other});
  EXPECT_TRUE(harness_.all<model::TaskWarned>(harness_.history).empty());
}

TEST_F(TrialsTest, WarnsOfNoNameOnceTheMetricWasReported) {
  begin(search_step(2), 2);
  told({metric(0, 1, "3")});
  ends(0, "2");
  model::MetricReport other = metric(1, 1, "0.5");
  other.values = {{"los", "0.5"}};
  told({other});
  EXPECT_TRUE(harness_.all<model::TaskWarned>(harness_.history).empty());
}

TEST_F(TrialsTest, SaysWhyNothingOfATrialWasRead) {
  model::StepSpec step = search_step(3);
  step.search->objectives = {{"loss", false}, {"seconds", false}};
  step.search->method = model::SearchSpec::Method::kNsga2;
  begin(step, 3);
  const auto end_of = [this](std::int64_t trial, model::MetricReport last) {
    last.last = true;
    told({last}, {BrainHarness::end_of(BrainHarness::ref(job_, 0, trial), 0, harness_.now)});
    return harness_.all<model::AttemptEnded>(harness_.last).at(0).message;
  };
  model::MetricReport report = metric(0, 1, "0.5");
  report.values = {{"loss", "0.5"}, {"second", "2"}};
  EXPECT_EQ(end_of(0, report),
            "it never reported 'seconds', only 'loss', 'second'; did you mean 'second'?");
  report = metric(1, 1, "0.5");
  report.values.clear();
  report.bad_lines = 4;
  EXPECT_EQ(end_of(1, report),
            "it never reported 'loss': 4 line(s) of its metrics file are no JSON object of numbers "
            "with a whole step");
  EXPECT_EQ(harness_.all<model::TaskWarned>(harness_.history).size(), 1U);
}

TEST_F(TrialsTest, WarnsOfNoTrialThatWasAskedToEnd) {
  begin(search_step(2), 2);
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  told({}, {BrainHarness::end_of(BrainHarness::ref(job_, 0, 0), 0, harness_.now)});
  EXPECT_EQ(status(0), Status::kFailed);
  EXPECT_TRUE(harness_.all<model::TaskWarned>(harness_.history).empty());
}

TEST_F(TrialsTest, FailsATrialWithoutItsMetric) {
  begin(search_step(1));
  model::MetricReport other = metric(0, 1, "0.5", true);
  other.values = {{"los", "0.5"}};
  told({other}, {BrainHarness::end_of(BrainHarness::ref(job_, 0, 0), 0, harness_.now)});
  EXPECT_EQ(status(0), Status::kFailed);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
  const auto ends = harness_.all<model::AttemptEnded>(harness_.last);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].reason, "MetricMissing");
  const auto warned = harness_.all<model::TaskWarned>(harness_.last);
  ASSERT_EQ(warned.size(), 1U) << "the others are likely to fail so too";
  EXPECT_EQ(warned[0].message, ends[0].message);
  EXPECT_NE(ends[0].message.find("did you mean 'los'"), std::string::npos) << ends[0].message;
}

TEST_F(TrialsTest, FailsATrialWhoseLastValueIsNoNumber) {
  begin(search_step(2));
  ends(0, "nan");
  ends(1, "3");
  EXPECT_EQ(status(0), Status::kFailed);
  EXPECT_EQ(study().best, 1);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
}

TEST_F(TrialsTest, KeepsOnlyReportsThatDecisionsUse) {
  begin(search_step(1));
  told({metric(0, 1, "3"), metric(0, 2, "2")});
  EXPECT_TRUE(study().trials[0].reports.empty());
  ends(0, "1", 1, 3);
  EXPECT_EQ(study().trials[0].reports.size(), 1U);
}

TEST_F(TrialsTest, StopsWhatIsWorseThanTheRest) {
  begin(search_step(3, true), 1);
  ends(0, "1");
  told({metric(1, 1, "50")});
  EXPECT_EQ(harness_.all<model::AttemptStopping>(harness_.last).size(), 1U);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 0, 0, model::EndCause::kStopped);
  EXPECT_EQ(status(1), Status::kPruned);
  // Its place went to the next one.
  EXPECT_EQ(status(2), Status::kStarting);
}

TEST_F(TrialsTest, ParksWhatHasACheckpointAndBringsItBack) {
  begin(search_step(3, true, true), 1);
  told({metric(0, 1, "5")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 0, 0, model::EndCause::kStopped);
  EXPECT_EQ(status(0), Status::kPaused);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
  told({metric(1, 1, "9")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 0, 0, model::EndCause::kStopped);
  // One of two at the first rung goes on, before the third begins.
  EXPECT_EQ(status(0), Status::kStarting);
  EXPECT_EQ(status(2), Status::kQueued);
  EXPECT_EQ(study().trials[0].params,
            find_task(harness_.brain.state(), {job_, {}, {}})->live->params);
}

TEST_F(TrialsTest, WhoIsPromotedInTheTurnThatWouldHaveParkedItGoesOn) {
  model::StepSpec step = search_step(5, true, true);
  step.search->pruner->eta = 4;
  begin(step, 5);
  // The second is paused as one of the first three; the fourth makes it the best quarter.
  told({metric(0, 1, "9"), metric(1, 1, "5"), metric(2, 1, "9"), metric(3, 1, "9")});
  std::vector<std::int64_t> stopped;
  for (const auto& each : harness_.all<model::AttemptStopping>(harness_.last)) {
    stopped.push_back(each.attempt.task.index.value());
  }
  EXPECT_EQ(stopped, (std::vector<std::int64_t>{0, 2, 3}));
}

TEST_F(TrialsTest, TheLastOneLeftIsNotParked) {
  begin(search_step(1, true, true), 1);
  told({metric(0, 1, "5")});
  EXPECT_TRUE(harness_.all<model::AttemptStopping>(harness_.last).empty())
      << "nobody wants its place";
  EXPECT_EQ(harness_.all<model::TrialPromoted>(harness_.last).size(), 1U);
  ends(0, "4");
  EXPECT_EQ(status(0), Status::kSucceeded);
}

TEST_F(TrialsTest, FinishesTheLeaderAndPrunesTheRest) {
  model::StepSpec step = search_step(3, true, true);
  step.search->pruner->eta = 4;  // None of three is among the best quarter.
  begin(step, 3);
  told({metric(0, 1, "5"), metric(1, 1, "3"), metric(2, 1, "9")});
  for (const int trial : {0, 1, 2}) {
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 0, 0, model::EndCause::kStopped);
  }
  EXPECT_EQ(status(0), Status::kPaused);
  EXPECT_EQ(status(1), Status::kStarting) << "the best of those that came furthest";
  ends(1, "2", 2);
  EXPECT_EQ(status(1), Status::kSucceeded);
  EXPECT_EQ(status(0), Status::kPruned);
  EXPECT_EQ(status(2), Status::kPruned);
  EXPECT_EQ(study().best, 1);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
}

TEST_F(TrialsTest, ALeaderThatFailsGivesItsPlaceToTheNext) {
  model::StepSpec step = search_step(2, true, true);
  step.search->pruner->eta = 4;
  begin(step, 2);
  told({metric(0, 1, "5"), metric(1, 1, "3")});
  for (const int trial : {0, 1}) {
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 0, 0, model::EndCause::kStopped);
  }
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1, 2), 7);
  EXPECT_EQ(status(1), Status::kFailed);
  EXPECT_EQ(status(0), Status::kStarting);
}

TEST_F(TrialsTest, AResumedSearchFinishesItsLeader) {
  model::StepSpec step = search_step(2, true, true);
  step.search->pruner->eta = 4;
  begin(step, 2);
  told({metric(0, 1, "5"), metric(1, 1, "3")});
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  for (const int trial : {0, 1}) {
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 0, 0, model::EndCause::kStopped);
  }
  ASSERT_EQ(harness_.job_status(job_), Status::kPaused);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  EXPECT_EQ(status(1), Status::kStarting);
  ends(1, "2", 2);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(study().trials[1].told, model::TrialEnd::kComplete);
}

TEST_F(TrialsTest, WhoWasAskedToPauseAfterItsLastStepGoesOnToItsOwnEnd) {
  model::StepSpec step = search_step(2, true, true);
  step.search->pruner->max_step = 8;
  begin(step, 8);
  told({metric(0, 1, "1")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 0, 0, model::EndCause::kStopped);
  told({metric(1, 1, "5")});
  ASSERT_EQ(harness_.all<model::AttemptStopping>(harness_.last).size(), 1U);
  // It was faster than the order to stop, and was ended while it saved.
  told({metric(1, 8, "4", true)},
       {BrainHarness::end_of(BrainHarness::ref(job_, 0, 1), 143, harness_.now, 0,
                             model::EndCause::kStopped)});
  const auto ended = harness_.all<model::AttemptEnded>(harness_.last);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended[0].to, Status::kPreempted);
  EXPECT_EQ(ended[0].reason, "Unfinished");
  EXPECT_FALSE(ended[0].charged);
  EXPECT_FALSE(study().trials[1].parked);
  EXPECT_FALSE(model::is_end(status(1)));
  harness_.running(kNode, BrainHarness::ref(job_, 0, 1, 2));
  ends(1, "4", 2);
  EXPECT_EQ(status(1), Status::kSucceeded);
  EXPECT_EQ(study().trials[1].told, model::TrialEnd::kComplete);
}

TEST_F(TrialsTest, WhoHasComeToItsLastStepByThenIsNotAskedToEnd) {
  for (const bool keeps : {true, false}) {
    BrainHarness fresh;
    std::swap(harness_, fresh);
    model::StepSpec step = search_step(4, true, keeps);
    step.search->pruner->max_step = 8;
    begin(step, 3);
    told({metric(0, 1, "1")});
    told({metric(1, 1, "5"), metric(1, 2, "5"), metric(1, 8, "4"), metric(1, 9, "4")});
    EXPECT_TRUE(harness_.all<model::AttemptStopping>(harness_.last).empty()) << keeps;
    ends(1, "4");
    EXPECT_EQ(status(1), Status::kSucceeded) << keeps;
  }
}

TEST_F(TrialsTest, WhoWasStoppedForGoodAfterItsLastStepIsDoneOnlyWhenItLeftByItself) {
  for (const int code : {0, 143}) {
    BrainHarness fresh;
    std::swap(harness_, fresh);
    model::StepSpec step = search_step(4, true, false);
    step.search->pruner->max_step = 8;
    begin(step, 3);
    told({metric(0, 1, "1")});
    told({metric(1, 1, "5")});
    ASSERT_EQ(harness_.all<model::AttemptStopping>(harness_.last).size(), 1U) << code;
    const auto cause = code == 0 ? model::EndCause::kExited : model::EndCause::kStopped;
    told({metric(1, 8, "4", true)},
         {BrainHarness::end_of(BrainHarness::ref(job_, 0, 1), code, harness_.now, 0, cause)});
    EXPECT_EQ(status(1), code == 0 ? Status::kSucceeded : Status::kPruned);
  }
}

TEST_F(TrialsTest, GivesUpWhenTheFirstTrialsAllFailAlike) {
  begin(search_step(40));
  for (int trial = 0; trial < 4; ++trial)
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 1);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 4), 1);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
  EXPECT_EQ(harness_.count(job_, 0, Status::kSkipped), 35);
  const Job& job = harness_.brain.state().jobs.at(job_);
  EXPECT_EQ(job.message,
            "step 'search': the first 5 trials all failed alike (NonZeroExit, exit code 1); "
            "search.max_failures allows more");
  // Mended, all of it is tried again.
  harness_.request(job_, model::JobRequest::Verb::kRetry);
  EXPECT_EQ(harness_.count(job_, 0, Status::kSkipped), 0);
  ends(0, "3", 2);
  EXPECT_EQ(status(0), Status::kSucceeded);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
}

TEST_F(TrialsTest, GoesOnWhileItsTrialsFailForDifferentReasonsOrReport) {
  begin(search_step(40));
  for (int trial = 0; trial < 9; ++trial) {
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 1 + trial % 2);
  }
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
  BrainHarness fresh;
  std::swap(harness_, fresh);
  begin(search_step(40));
  ends(0, "3");
  for (int trial = 1; trial < 9; ++trial)
    harness_.ended(kNode, BrainHarness::ref(job_, 0, trial), 1);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
}

TEST_F(TrialsTest, MoreFailuresThanAllowedEndTheSearch) {
  model::StepSpec step = search_step(40);
  step.search->max_failures = 2;
  begin(step, 2);
  ends(0, "3");
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 1);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 2), 2);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 3), 3);
  EXPECT_EQ(harness_.job_status(job_), Status::kRunning) << "what runs comes to its end";
  ends(4, "1");
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
  EXPECT_EQ(harness_.brain.state().jobs.at(job_).message,
            "step 'search': 3 trials failed, more than max_failures: 2");
  EXPECT_EQ(study().best, 4) << "what it found stays";
}

TEST_F(TrialsTest, AGivenUpSearchStaysSoOverHaltAndResume) {
  model::StepSpec step = search_step(40);
  step.search->max_failures = 0;
  begin(step, 2);
  ends(0, "3");
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 1);
  ASSERT_GT(harness_.count(job_, 0, Status::kSkipped), 0);
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 2), 0, 0, model::EndCause::kStopped);
  ASSERT_EQ(harness_.job_status(job_), Status::kPaused);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  EXPECT_FALSE(study().stopped.empty());
  told({metric(2, 1, "4", true)},
       {BrainHarness::end_of({harness_.ref(job_, 0, 2).task, AttemptNumber(2)}, 0, harness_.now)});
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
}

TEST_F(TrialsTest, IsAskedOnAHomeOfSpotNodesOnly) {
  model::NodeJoin join;
  join.node.id = NodeId(kNode);
  join.node.capacity.milli_cpus = 1'000;
  join.node.spot = true;
  join.incarnation = Incarnation("1");
  harness_.decide(join);
  model::StepSpec step = search_step(3);
  step.run = model::ExternalTrials();
  harness_.submit({step});
  EXPECT_FALSE(harness_.last_refusal.has_value()) << "it takes no place";
  harness_.submit({search_step(3)});
  EXPECT_TRUE(harness_.last_refusal.has_value());
}

TEST_F(TrialsTest, AResumedJobLeavesParkedTrialsToTheSearch) {
  begin(search_step(3, true, true), 1);
  told({metric(0, 1, "5")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 0, 0, model::EndCause::kStopped);
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 0, 0, model::EndCause::kStopped);
  ASSERT_EQ(harness_.job_status(job_), Status::kPaused);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  EXPECT_EQ(status(0), Status::kPaused);
  EXPECT_EQ(status(1), Status::kStarting);
}

TEST_F(TrialsTest, AsksForNothingAfterItsTime) {
  model::StepSpec step = search_step(5);
  step.search->max_duration = Duration::seconds(10);
  begin(step);
  ends(0, "1");
  harness_.pass(Duration::seconds(11));
  EXPECT_LE(*harness_.brain.next_wake(harness_.now), harness_.now);
  harness_.wake();
  EXPECT_EQ(harness_.count(job_, 0, Status::kPruned), 3);
  ends(1, "2");
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
}

// Nothing of the search waits any more, so no room is kept for it.
TEST_F(TrialsTest, WhoWaitsBehindASearchStartsWhenItsTimeIsOver) {
  model::StepSpec step = search_step(5);
  step.resources.milli_cpus = 2'000;
  step.search->max_duration = sched::kBackfillPatience + Duration::seconds(10);
  begin_beside_another(step);
  harness_.running(kNode, BrainHarness::ref(job_, 0, 0));
  harness_.pass(sched::kBackfillPatience);  // From now on nobody passes it any more.
  const JobId next = harness_.submit({testing::step("next")});
  EXPECT_EQ(harness_.task_status(next, 0, 0), Status::kQueued);
  harness_.pass(Duration::seconds(10));
  told({metric(0, 1, "3")});  // Before anything wakes the brain.
  EXPECT_EQ(harness_.count(job_, 0, Status::kPruned), 4);
  EXPECT_EQ(harness_.task_status(next, 0, 0), Status::kStarting);
}

TEST_F(TrialsTest, WhoWaitsBehindASearchStartsWhenItIsGivenUp) {
  model::StepSpec step = search_step(40);
  step.search->method = model::SearchSpec::Method::kRandom;
  step.search->max_failures = 0;
  step.resources.milli_cpus = 2'000;
  begin_beside_another(step);
  ends(0, "1");  // In no time: from now on trials are bound ahead.
  ends(1, "2");
  harness_.pass(sched::kBackfillPatience);
  const JobId next = harness_.submit({testing::step("next")});
  ASSERT_EQ(harness_.task_status(next, 0, 0), Status::kQueued);
  ASSERT_EQ(status(3), Status::kStarting) << "bound behind trial 2";
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 2), 1);
  EXPECT_EQ(status(39), Status::kSkipped);
  EXPECT_EQ(status(3), Status::kStarting);
  EXPECT_EQ(harness_.task_status(next, 0, 0), Status::kStarting);
}

TEST_F(TrialsTest, SpendsNoMoreThanItsBudget) {
  join_priced();
  model::StepSpec step = search_step(5);
  step.search->budget = Money::micros(15'000);
  job_ = harness_.submit({step});
  harness_.running(kNode, BrainHarness::ref(job_, 0, 0));
  harness_.pass(Duration::seconds(10));
  ends(0, "1");
  EXPECT_EQ(study().trials.size(), 2U) << "a cent was spent, half of one is left";
  EXPECT_EQ(harness_.brain.next_wake(harness_.now), harness_.now + Duration::seconds(5));
  harness_.running(kNode, BrainHarness::ref(job_, 0, 1));
  harness_.pass(Duration::seconds(5));
  harness_.wake();
  EXPECT_EQ(harness_.count(job_, 0, Status::kPruned), 3) << "those that were never asked for";
  ASSERT_EQ(harness_.all<model::AttemptStopping>(harness_.last).size(), 1U);
  EXPECT_EQ(harness_.brain.next_wake(harness_.now).value_or(harness_.now + Duration::hours(1)),
            harness_.now + Duration::hours(1))
      << "nobody waits for what is over";
  told({metric(1, 3, "0.5")}, {BrainHarness::end_of(BrainHarness::ref(job_, 0, 1), 143,
                                                    harness_.now, 0, model::EndCause::kStopped)});
  EXPECT_EQ(status(1), Status::kPruned);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(study().best, 0) << "of those that ended whole";
}

TEST_F(TrialsTest, AFailedTrialIsNotTriedAgainForMoreThanTheBudget) {
  join_priced();
  model::StepSpec step = search_step(1);
  step.search->budget = Money::micros(5'000);
  step.retry.max = 3;
  job_ = harness_.submit({step});
  harness_.running(kNode, BrainHarness::ref(job_, 0, 0));
  harness_.pass(Duration::seconds(5));
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 1);
  EXPECT_EQ(status(0), Status::kPruned);
  EXPECT_TRUE(model::is_end(harness_.job_status(job_)));
}

TEST_F(TrialsTest, ARepeatedReportChangesNothing) {
  begin(search_step(3, true), 1);
  ends(0, "1");
  told({metric(1, 1, "0.5")});
  told({metric(1, 1, "0.5")});
  EXPECT_TRUE(harness_.last.empty());
}

// Its first attempt reported the best value of all at step 5, and crashed.
class RetriedTrialTest : public TrialsTest {
 protected:
  void crash_after_step_5(bool pruned = false) {
    model::StepSpec step = search_step(2, pruned);
    step.retry.max = 1;
    begin(std::move(step), 2);
    told({metric(0, 5, "0.1", true)},
         {BrainHarness::end_of(BrainHarness::ref(job_, 0, 0), 1, harness_.now)});
    ASSERT_EQ(status(0), Status::kStarting);
  }
  std::string value() const { return study().trials[0].own_reports().back().values.front(); }
};

TEST_F(RetriedTrialTest, CameToWhatTheRetrySaidThoughItReachedLess) {
  crash_after_step_5();
  ends(0, "0.7", 2, 4);
  ends(1, "0.5");
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(value(), "0.7");
  EXPECT_EQ(study().best, 1);
}

TEST_F(RetriedTrialTest, CameToWhatTheRetrySaidOfTheSameStep) {
  crash_after_step_5();
  ends(0, "0.7", 2, 5);
  ends(1, "0.5");
  EXPECT_EQ(value(), "0.7");
  EXPECT_EQ(study().best, 1);
}

TEST_F(RetriedTrialTest, KeepsItsValueWhenTheRetryHadNothingMoreToSay) {
  crash_after_step_5();
  told({}, {BrainHarness::end_of(BrainHarness::ref(job_, 0, 0, 2), 0, harness_.now)});
  ends(1, "0.5");
  EXPECT_EQ(status(0), Status::kSucceeded);
  EXPECT_EQ(study().best, 0);
}

TEST_F(RetriedTrialTest, GivesUpWhatItHadAtTheFirstReportOfTheRetry) {
  crash_after_step_5();
  told({metric(0, 3, "0.8", false, 2)});
  EXPECT_EQ(value(), "0.8");
  const std::size_t reports = study().trials[0].reports.size();
  told({metric(0, 3, "0.8", false, 2), metric(0, 4, "0.7", false, 2)});  // The first once more.
  EXPECT_EQ(study().trials[0].reports.size(), reports) << "nobody judges without a pruner";
  ends(0, "0.6", 2, 9);
  EXPECT_EQ(study().trials[0].standing_reports().size(), 2U) << "steps 3 and 9 of the retry";
}

TEST_F(RetriedTrialTest, IsJudgedOnceAtAStep) {
  crash_after_step_5(true);
  told({metric(1, 1, "0.01"), metric(1, 2, "0.01"), metric(1, 4, "0.01")});
  told({metric(0, 1, "0.8", false, 2), metric(0, 2, "0.8", false, 2),
        metric(0, 4, "0.8", false, 2)});
  EXPECT_FALSE(harness_.brain.state().jobs.at(job_).steps[0].tasks.at(TaskIndex(0)).live->stopping);
  EXPECT_EQ(study().trials[0].reports.size(), 2U);
  told({metric(0, 8, "0.8", false, 2)});
  EXPECT_EQ(study().trials[0].reports.size(), 3U);
}

TEST(Trial, KeepsTheReportsThatNothingReplaced) {
  Trial trial;
  trial.reports = {{1, {"a"}, AttemptNumber(1)},
                   {4, {"b"}, AttemptNumber(1)},
                   {3, {"c"}, AttemptNumber(2)},
                   {5, {"d"}, AttemptNumber(2)},
                   {2, {"e"}, AttemptNumber(3)}};
  trial.moves = {{.donor = 1, .at = 5, .reports = 4}};
  std::string standing;
  for (const TrialReport& report : trial.standing_reports()) standing += report.values.front();
  EXPECT_EQ(standing, "acde") << "what it told before it moved is not of these weights";
}

TEST_F(TrialsTest, AReopenedTrialIsToldAgain) {
  begin(search_step(1));
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 3);
  ASSERT_EQ(harness_.job_status(job_), Status::kFailed);
  harness_.request(job_, model::JobRequest::Verb::kRetry);
  ends(0, "4", 2);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(study().best, 0);
}

TEST_F(TrialsTest, AHaltedSearchPromotesNothing) {
  begin(search_step(2, true, true));
  told({metric(0, 1, "5")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 0, 0, model::EndCause::kStopped);
  told({metric(1, 1, "9")});  // Now trial 0 may go on, as soon as there is room.
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 1), 0, 0, model::EndCause::kStopped);
  harness_.wake();
  EXPECT_EQ(harness_.job_status(job_), Status::kPaused);
  EXPECT_EQ(harness_.count(job_, 0, Status::kPaused), 2);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  EXPECT_EQ(status(0), Status::kStarting);
}

TEST_F(TrialsTest, ASearchThatPrunedAllItsTrialsCannotBeRetried) {
  begin(search_step(1, true, true));
  told({metric(0, 1, "nan")});
  harness_.ended(kNode, BrainHarness::ref(job_, 0, 0), 0, 0, model::EndCause::kStopped);
  ASSERT_EQ(harness_.job_status(job_), Status::kFailed);
  const Decision retried = harness_.request(job_, model::JobRequest::Verb::kRetry);
  ASSERT_TRUE(retried.refusal.has_value());
  EXPECT_NE(retried.refusal->to_string().find("step 'search'"), std::string::npos);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
}

TEST_F(TrialsTest, RetryLeavesASearchAloneThatFoundSomething) {
  harness_.join(kNode, 1);
  model::StepSpec train = testing::step("train", 1, {0});
  job_ = harness_.submit({search_step(2), train});
  ends(0, "nan");
  ends(1, "0.5");
  harness_.ended(kNode, BrainHarness::ref(job_, 1, 0), 3);
  ASSERT_EQ(harness_.job_status(job_), Status::kFailed);
  harness_.request(job_, model::JobRequest::Verb::kRetry);
  EXPECT_EQ(status(0), Status::kFailed);
  EXPECT_EQ(harness_.task_status(job_, 1, 0), Status::kStarting);
}

TEST_F(TrialsTest, ASnapshotTellsTheSameSearch) {
  begin(search_step(6, true, true), 2);
  told({metric(0, 1, "5"), metric(1, 1, "4")});
  const std::string text = encode_state(harness_.brain.state());
  Result<State> read = decode_state(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), text);
  Brain again(*std::move(read));
  const model::Input next =
      model::NodeReport{NodeId(kNode),
                        Incarnation("1"),
                        {BrainHarness::end_of(BrainHarness::ref(job_, 0, 0), 0, harness_.now, 0,
                                              model::EndCause::kStopped)},
                        {}};
  EXPECT_EQ(again.decide(next, harness_.now).events, harness_.decide(next).events);
}

}  // namespace
}  // namespace runnel::brain
