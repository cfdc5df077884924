#include "brain/health.h"

#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/reconciler.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::HealthAction;
using model::HealthProblem;
using model::HealthReport;
using model::Status;
using testing::BrainHarness;

// A gang of three on one node, watched in every way, with budget for one retry.
class HealthTest : public ::testing::Test {
 protected:
  HealthTest() { harness_.colocate = true; }

  model::StepSpec gang(HealthAction action) {
    model::StepSpec spec = testing::step("train");
    spec.num_nodes = 3;
    spec.retry.max = 1;
    spec.health.hang = model::HangPolicy{Duration::seconds(10), action};
    spec.health.nan = model::NanPolicy{"loss", action};
    spec.health.straggler = model::StragglerPolicy{3'000, action};
    return spec;
  }
  void begin(const model::StepSpec& spec) {
    harness_.join("a", 8);
    job_ = harness_.submit({spec});
    run(1);
  }
  void run(int attempt) {
    for (int rank = 0; rank < 3; ++rank) harness_.running("a", ref(attempt), rank);
  }
  void end(int attempt, int code, EndCause cause) {
    for (const int rank : {2, 0, 1}) harness_.ended("a", ref(attempt), code, rank, cause);
  }
  model::AttemptRef ref(int attempt = 1) const { return BrainHarness::ref(job_, 0, 0, attempt); }

  HealthReport silent(Duration silence, std::int32_t rank = 1, int attempt = 1) const {
    HealthReport report{ref(attempt), rank, HealthProblem::kHung, harness_.now - silence, silence};
    report.step = 41;
    report.silent_others = 2;
    return report;
  }
  HealthReport reported(std::string metric, std::string value) const {
    HealthReport report{ref(), 2, HealthProblem::kNotFinite, harness_.now, {}};
    report.step = 7;
    report.metric = std::move(metric);
    report.value = std::move(value);
    return report;
  }
  HealthReport slow(std::int64_t micros, std::int32_t steps = 3) const {
    HealthReport report{ref(), 1, HealthProblem::kSlow, harness_.now, {}};
    report.took = Micros::count(micros);
    report.median = Micros::count(1'000'000);
    report.steps = steps;
    return report;
  }
  void tell(HealthReport report, const std::string& node = "a") {
    model::NodeReport input;
    input.node = NodeId(node);
    input.incarnation = Incarnation("1");
    input.health = {std::move(report)};
    harness_.decide(input);
  }
  std::vector<model::TaskWarned> warned() const {
    return harness_.all<model::TaskWarned>(harness_.history);
  }
  model::AttemptEnded last_end() const {
    return harness_.all<model::AttemptEnded>(harness_.history).back();
  }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(HealthTest, AWarningNamesRankAndEvidenceOnceAndTheAttemptGoesOn) {
  begin(gang(HealthAction::kWarn));
  harness_.now = Time::from_millis(1'700'000'060'000);
  tell(silent(Duration::seconds(12)));
  tell(silent(Duration::seconds(13), 2));
  ASSERT_EQ(warned().size(), 1U);
  EXPECT_EQ(warned()[0].rank, 1);
  EXPECT_EQ(warned()[0].since, Time::from_millis(1'700'000'048'000));
  EXPECT_EQ(warned()[0].message,
            "rank 1 of 3 wrote no output and no metric for 12.0 s, since 2023-11-14T22:14:08.000Z, "
            "the last step it reported is 41; 2 of the others are silent as well");
  tell(slow(3'100'000));
  EXPECT_EQ(warned().back().message,
            "rank 1 of 3 takes 3.1 s for a step, 3.1 times the median of the others (1.0 s), in "
            "each of its last 3");
  EXPECT_EQ(harness_.task_status(job_, 0, 0), Status::kRunning);
  const Step& step = step_of(harness_.brain.state(), job_, StepIndex(0));
  EXPECT_EQ(step.warned, 2);
  ASSERT_EQ(step.warnings.size(), 2U);
  EXPECT_EQ(step.warnings[1].reason, HealthProblem::kSlow);
  end(1, 0, EndCause::kExited);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(harness_.replica().jobs.at(job_).steps, harness_.brain.state().jobs.at(job_).steps);
}

TEST_F(HealthTest, TooLittleAccusesNobody) {
  begin(gang(HealthAction::kKill));
  tell(silent(Duration::millis(9'999)));
  tell(slow(2'999'000));
  tell(slow(9'000'000, 2));
  tell(reported("accuracy", "nan"));
  tell(reported("loss", "1e300"));
  tell(silent(Duration::seconds(20), 3));
  tell(silent(Duration::seconds(20), -1));
  tell(silent(Duration::seconds(20), 1, 2));
  tell(silent(Duration::seconds(20)), "b");
  EXPECT_TRUE(warned().empty());
}

TEST_F(HealthTest, AHungRankIsTriedAgainAndPays) {
  begin(gang(HealthAction::kRestart));
  tell(silent(Duration::seconds(10)));
  const auto stopping = harness_.all<model::AttemptStopping>(harness_.history);
  ASSERT_EQ(stopping.size(), 1U) << "the whole gang, once";
  EXPECT_EQ(stopping[0].because, Status::kFailed);
  tell(slow(9'000'000));
  EXPECT_EQ(warned().size(), 1U) << "what ends is not accused";
  end(1, 143, EndCause::kStopped);
  EXPECT_EQ(last_end().reason, "RankHung");
  EXPECT_EQ(last_end().first_failed, 1) << "not rank 2, which obeyed first";
  EXPECT_EQ(last_end().message, warned()[0].message);
  EXPECT_TRUE(last_end().charged);
  run(2);
  tell(silent(Duration::seconds(30), 0, 2));
  end(2, 143, EndCause::kStopped);
  EXPECT_FALSE(last_end().charged);
  EXPECT_NE(last_end().message.find("; retry.max is used up: 1"), std::string::npos);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
}

TEST_F(HealthTest, ARestartAsksNoConditionOfRetry) {
  model::StepSpec spec = gang(HealthAction::kRestart);
  spec.retry.on_exit_codes = {75};
  begin(spec);
  tell(reported("loss", "-inf"));
  end(1, 143, EndCause::kStopped);
  EXPECT_TRUE(last_end().charged);
  EXPECT_EQ(harness_.task_status(job_, 0, 0), Status::kStarting);
}

TEST_F(HealthTest, AKillIsForGood) {
  begin(gang(HealthAction::kKill));
  tell(reported("loss", "nan"));
  EXPECT_EQ(warned()[0].message, "rank 2 of 3 reported loss=nan at step 7");
  end(1, 143, EndCause::kStopped);
  EXPECT_EQ(harness_.task_status(job_, 0, 0), Status::kFailed);
  EXPECT_EQ(last_end().reason, "MetricNotFinite");
  EXPECT_EQ(last_end().first_failed, 2);
  EXPECT_FALSE(last_end().charged);
}

TEST_F(HealthTest, WhoLeftWellIsDoneButNotWithoutANumber) {
  begin(gang(HealthAction::kKill));
  tell(silent(Duration::seconds(11)));
  end(1, 0, EndCause::kExited);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  job_ = harness_.submit({gang(HealthAction::kKill)});
  run(1);
  tell(reported("loss", "nan"));
  end(1, 0, EndCause::kExited);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
}

TEST_F(HealthTest, TheLastLineIsJudgedBeforeTheEndThatComesWithIt) {
  model::StepSpec spec = testing::step("train");
  spec.health.nan = model::NanPolicy{"", HealthAction::kKill};
  harness_.join("a", 8);
  job_ = harness_.submit({spec});
  model::NodeReport input;
  input.node = NodeId("a");
  input.incarnation = Incarnation("1");
  input.ranks = {BrainHarness::end_of(ref(), 0, harness_.now)};
  input.health = {reported("accuracy", "inf")};
  input.health[0].rank = 0;
  harness_.decide(input);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
  EXPECT_EQ(last_end().message, "rank 0 of 1 reported accuracy=inf at step 7");
}

// The message that told both was lost.
TEST_F(HealthTest, TheLastLineIsJudgedBeforeTheEndThatAJoinTells) {
  model::StepSpec spec = testing::step("train");
  spec.health.nan = model::NanPolicy{"", HealthAction::kKill};
  harness_.join("a", 8);
  job_ = harness_.submit({spec});
  model::NodeJoin input{harness_.brain.state().nodes.at(NodeId("a")).info, Incarnation("1")};
  input.ranks = {BrainHarness::end_of(ref(), 0, harness_.now)};
  input.health = {reported("accuracy", "inf")};
  input.health[0].rank = 0;
  harness_.decide(input);
  EXPECT_EQ(harness_.job_status(job_), Status::kFailed);
}

TEST_F(HealthTest, AUsersWishGoesFirst) {
  begin(gang(HealthAction::kRestart));
  tell(silent(Duration::seconds(11)));
  harness_.request(job_, model::JobRequest::Verb::kCancel);
  end(1, 143, EndCause::kStopped);
  EXPECT_EQ(harness_.task_status(job_, 0, 0), Status::kCancelled);
  EXPECT_EQ(last_end().reason, "Cancelled");
}

TEST_F(HealthTest, WhatIsHaltedIsNotHung) {
  begin(gang(HealthAction::kKill));
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  tell(silent(Duration::seconds(11)));
  EXPECT_TRUE(warned().empty());
}

TEST_F(HealthTest, AStepKeepsItsNewestWarnings) {
  model::StepSpec spec = testing::step("many", 30);
  spec.health.nan = model::NanPolicy{"", HealthAction::kWarn};
  harness_.join("a", 30);
  job_ = harness_.submit({spec});
  for (int task = 0; task < 30; ++task) {
    harness_.running("a", BrainHarness::ref(job_, 0, task));
    HealthReport report = reported("loss", "nan");
    report.attempt = BrainHarness::ref(job_, 0, task);
    report.rank = 0;
    tell(report);
  }
  const Step& step = step_of(harness_.brain.state(), job_, StepIndex(0));
  EXPECT_EQ(step.warned, 30);
  ASSERT_EQ(step.warnings.size(), kWarningsMax);
  EXPECT_EQ(step.warnings.back().task, TaskIndex(29));
  const State read = MUST(decode_state(encode_state(harness_.brain.state())));
  EXPECT_EQ(step_of(read, job_, StepIndex(0)).warnings, step.warnings);
  EXPECT_EQ(step_of(read, job_, StepIndex(0)).warned, 30);
}

TEST_F(HealthTest, ANodeIsToldWhatToLookForWithTheStartAndWhenItJoins) {
  begin(gang(HealthAction::kKill));
  const auto order = watch_order(harness_.brain.state(), ref(), NodeId("a"));
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->rank_count, 3);
  EXPECT_EQ(order->world_size, 3);
  EXPECT_EQ(order->health.hang->after, Duration::seconds(10));
  const Reconciler reconciler(Epoch(1), harness_.brain.state());
  model::RankReport there;
  there.attempt = ref();
  const auto joined = reconciler.on_join(harness_.brain.state(), NodeId("a"), std::span(&there, 1));
  EXPECT_TRUE(joined.start.empty());
  EXPECT_EQ(joined.watch.size(), 1U);
  const auto missing = reconciler.on_join(harness_.brain.state(), NodeId("a"), {});
  EXPECT_EQ(missing.start.size(), 1U);
  EXPECT_EQ(missing.watch.size(), 1U);
  tell(reported("loss", "nan"));
  EXPECT_FALSE(watch_order(harness_.brain.state(), ref(), NodeId("a")).has_value());
}

}  // namespace
}  // namespace runnel::brain
