#include "brain/population.h"

#include <gtest/gtest.h>

#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;

constexpr const char* kMembersNode = "n1";

model::StepSpec population_step(std::int64_t members) {
  model::StepSpec step = testing::step("train", members);
  step.samples.reset();
  step.params = {{.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  model::SearchSpec& search = step.search.emplace();
  search.method = model::SearchSpec::Method::kPbt;
  search.objectives = {{"loss", false}};
  search.max_trials = members;
  search.population = model::PopulationSpec{.every = 2, .max_step = 8, .quantile_percent = 25};
  step.checkpoint = model::CheckpointPolicy{"ckpt-{{x}}", Duration(), std::nullopt};
  return step;
}

class PopulationTest : public ::testing::Test {
 protected:
  void begin(std::int64_t members, std::int64_t cpus) {
    harness_.join(kMembersNode, cpus);
    job_ = harness_.submit({population_step(members)});
  }
  int attempt_of(std::int64_t member) const {
    return attempts_of(step_of(harness_.brain.state(), job_, StepIndex(0)), TaskIndex(member))
        .value();
  }
  model::AttemptRef now_of(std::int64_t member) const {
    return BrainHarness::ref(job_, 0, member, attempt_of(member));
  }
  void reports(std::int64_t member, std::int64_t at, std::string loss) {
    harness_.decide(model::NodeReport{NodeId(kMembersNode),
                                      Incarnation("1"),
                                      {},
                                      {{now_of(member), at, {{"loss", std::move(loss)}}, false}}});
  }
  void stops(std::int64_t member) {
    harness_.ended(kMembersNode, now_of(member), 0, 0, model::EndCause::kStopped);
  }
  void ends(std::int64_t member, std::int64_t at, std::string loss) {
    harness_.decide(model::NodeReport{NodeId(kMembersNode),
                                      Incarnation("1"),
                                      {BrainHarness::end_of(now_of(member), 0, harness_.now)},
                                      {{now_of(member), at, {{"loss", std::move(loss)}}, true}}});
  }
  const Trial& trial(std::int64_t member) const {
    return step_of(harness_.brain.state(), job_, StepIndex(0))
        .study->trials.at(static_cast<std::size_t>(member));
  }
  Status status(std::int64_t member) const { return harness_.task_status(job_, 0, member); }
  std::vector<model::AttemptStopping> stopping() const {
    return harness_.all<model::AttemptStopping>(harness_.last);
  }

  BrainHarness harness_;
  JobId job_;
};

TEST_F(PopulationTest, TheWorstGoesOnFromTheBest) {
  begin(4, 4);
  reports(0, 2, "0.1");
  reports(1, 2, "0.2");
  reports(2, 2, "0.3");
  EXPECT_TRUE(trial(2).moves.empty());
  const auto before = trial(3).params;
  reports(3, 2, "0.9");
  ASSERT_EQ(stopping().size(), 1U);
  EXPECT_EQ(stopping()[0].because, Status::kPaused);
  EXPECT_TRUE(trial(3).moves.empty()) << "it has not ended yet";
  stops(3);
  ASSERT_EQ(trial(3).moves.size(), 1U);
  EXPECT_EQ(trial(3).moves[0], (TrialMove{0, 2, 1, before}));
  EXPECT_NE(trial(3).params, before);
  EXPECT_EQ(status(3), Status::kStarting);
  const auto order = start_order(harness_.brain.state(), now_of(3), NodeId(kMembersNode));
  ASSERT_TRUE(order && order->checkpoint_from);
  EXPECT_EQ(order->checkpoint_from->task, BrainHarness::ref(job_, 0, 0).task);
  EXPECT_EQ(order->checkpoint_from->dir, "ckpt-" + trial(0).params[0].second);
  EXPECT_EQ(order->checkpoint_from->number, 1);
  EXPECT_FALSE(
      start_order(harness_.brain.state(), now_of(0), NodeId(kMembersNode))->checkpoint_from);
}

TEST_F(PopulationTest, WhoEndedBeforeItWasStoppedKeepsWhatItHas) {
  begin(2, 2);
  reports(0, 2, "0.1");
  const auto before = trial(1).params;
  reports(1, 2, "0.9");
  ASSERT_EQ(stopping().size(), 1U);
  ends(1, 3, "0.8");
  EXPECT_EQ(status(1), Status::kSucceeded);
  EXPECT_TRUE(trial(1).moves.empty());
  EXPECT_EQ(trial(1).params, before);
}

TEST_F(PopulationTest, MovesThoughItReportsOnceMoreWhileItIsStopped) {
  begin(2, 2);
  reports(0, 2, "0.1");
  reports(1, 2, "0.9");
  harness_.decide(model::NodeReport{
      NodeId(kMembersNode),
      Incarnation("1"),
      {BrainHarness::end_of(now_of(1), 0, harness_.now, 0, model::EndCause::kStopped)},
      {{now_of(1), 3, {{"loss", "0.85"}}, true}}});
  ASSERT_EQ(trial(1).moves.size(), 1U);
  EXPECT_EQ(trial(1).moves[0].at, 3);
}

TEST_F(PopulationTest, WhatWasReportedBeforeAMoveCountsNoMore) {
  begin(2, 2);
  reports(0, 2, "0.1");
  reports(1, 6, "0.9");
  stops(1);
  ASSERT_EQ(trial(1).moves.size(), 1U);
  reports(1, 4, "0.3");
  EXPECT_EQ(trial(1).own_reports().back().at, 4) << "its donor was behind it";
  ends(1, 5, "0.25");
  ends(0, 8, "0.5");
  EXPECT_EQ(step_of(harness_.brain.state(), job_, StepIndex(0)).study->best, 1);
}

TEST_F(PopulationTest, WhoHasNothingLeftToTrainGivesNoValue) {
  begin(2, 2);
  reports(0, 2, "0.5");
  reports(1, 2, "0.9");
  stops(1);
  ASSERT_EQ(trial(1).moves.size(), 1U);
  harness_.ended(kMembersNode, now_of(1));
  EXPECT_EQ(status(1), Status::kPruned);
  ends(0, 8, "0.4");
  EXPECT_EQ(step_of(harness_.brain.state(), job_, StepIndex(0)).study->best, 0);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
}

TEST_F(PopulationTest, NobodyGoesOnFromOneThatHasEnded) {
  begin(2, 2);
  reports(0, 2, "0.1");
  reports(1, 2, "0.9");
  ends(0, 8, "0.05");
  stops(1);
  EXPECT_TRUE(trial(1).moves.empty());
  EXPECT_EQ(status(1), Status::kStarting);
}

TEST_F(PopulationTest, EndsWithItsTime) {
  harness_.join(kMembersNode, 1);
  model::StepSpec step = population_step(3);
  step.search->max_duration = Duration::seconds(10);
  job_ = harness_.submit({step});
  reports(0, 2, "0.1");
  stops(0);
  harness_.pass(Duration::seconds(11));
  harness_.wake();
  reports(1, 2, "0.5");
  EXPECT_TRUE(stopping().empty()) << "what runs is let finish";
  ends(1, 8, "0.4");
  EXPECT_EQ(status(0), Status::kPruned);
  EXPECT_EQ(status(2), Status::kPruned);
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
}

TEST_F(PopulationTest, NobodyMovesAtTheLastStep) {
  begin(2, 2);
  reports(0, 6, "0.1");
  reports(0, 8, "0.1");
  reports(1, 8, "0.9");
  EXPECT_TRUE(stopping().empty());
}

TEST_F(PopulationTest, MembersTakeTurnsWhereThereAreFewerPlaces) {
  begin(3, 1);
  EXPECT_EQ(status(0), Status::kStarting);
  reports(0, 2, "0.1");
  ASSERT_EQ(stopping().size(), 1U) << "two others have not begun";
  stops(0);
  EXPECT_EQ(status(0), Status::kPaused);
  EXPECT_EQ(status(1), Status::kStarting);
  reports(1, 2, "0.5");
  stops(1);
  EXPECT_EQ(status(2), Status::kStarting) << "who has not begun comes first";
  reports(2, 2, "0.2");
  stops(2);
  EXPECT_EQ(attempt_of(0), 2) << "of those that are furthest behind, the first";
  reports(0, 4, "0.1");
  stops(0);
  EXPECT_EQ(attempt_of(1), 2);
  EXPECT_EQ(trial(1).moves.size(), 1U) << "it was the worst of two";
}

TEST_F(PopulationTest, RunsToItsEndWithAllMembers) {
  begin(5, 2);
  std::vector<std::int64_t> reached(5, 0);
  std::vector<std::int64_t> first_of(5, 0);
  for (int turn = 0; turn < 200 && !model::is_end(harness_.job_status(job_)); ++turn) {
    for (std::int64_t member = 0; member < 5; ++member) {
      if (status(member) != Status::kStarting && status(member) != Status::kRunning) continue;
      auto& at = reached[static_cast<std::size_t>(member)];
      ++at;
      const std::string loss = std::to_string(member) + "." + std::to_string(9 - at);
      if (at == 8) {
        ends(member, at, loss);
        continue;
      }
      reports(member, at, loss);
      if (!stopping().empty()) stops(member);
    }
  }
  EXPECT_EQ(harness_.job_status(job_), Status::kSucceeded);
  EXPECT_EQ(harness_.count(job_, 0, Status::kSucceeded), 5);
  EXPECT_FALSE(trial(4).moves.empty());
  EXPECT_EQ(step_of(harness_.brain.state(), job_, StepIndex(0)).study->parked, 0);
}

TEST_F(PopulationTest, AHaltedJobGoesOnWhereItWas) {
  begin(2, 2);
  reports(0, 2, "0.1");
  reports(1, 2, "0.9");
  harness_.request(job_, model::JobRequest::Verb::kHalt);
  stops(0);
  stops(1);
  ASSERT_EQ(harness_.job_status(job_), Status::kPaused);
  harness_.request(job_, model::JobRequest::Verb::kResume);
  EXPECT_EQ(status(0), Status::kStarting);
  EXPECT_EQ(status(1), Status::kStarting);
  EXPECT_EQ(trial(1).moves.size(), 1U);
}

}  // namespace
}  // namespace runnel::brain
