#include "control/best_trials.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

using model::TrialEnd;
using Trials = std::vector<std::int64_t>;

model::SearchSpec for_loss_and_accuracy() {
  model::SearchSpec search;
  search.objectives = {{"loss", false}, {"accuracy", true}};
  return search;
}

brain::Trial ended(TrialEnd end, std::int64_t at, const std::string& loss,
                   const std::string& accuracy) {
  brain::Trial trial;
  trial.reports = {{at, {loss, accuracy}}};
  trial.told = end;
  return trial;
}

brain::Step step_with(const brain::Study& study, model::Status status) {
  brain::Step step;
  step.status = status;
  step.study = study;
  return step;
}

Trials ended_with(const model::SearchSpec& search, const brain::Study& study) {
  return best_trials(search, step_with(study, model::Status::kSucceeded));
}

TEST(BestTrials, AreTheFrontOfSeveralObjectives) {
  brain::Study study;
  study.trials = {ended(TrialEnd::kComplete, 1, "1", "0.5"),
                  ended(TrialEnd::kComplete, 1, "2", "0.4"),
                  ended(TrialEnd::kComplete, 1, "2", "0.9"),
                  ended(TrialEnd::kComplete, 1, "0", "nan"),
                  ended(TrialEnd::kPruned, 1, "0", "1"),
                  ended(TrialEnd::kFailed, 1, "0", "1"),
                  brain::Trial()};
  EXPECT_EQ(ended_with(for_loss_and_accuracy(), study), Trials()) << "none has been told";
  study.best = 0;
  EXPECT_EQ(ended_with(for_loss_and_accuracy(), study), Trials({0, 2}));
  const brain::Step step = step_with(study, model::Status::kRunning);
  EXPECT_TRUE(is_best_trial(for_loss_and_accuracy(), step, TaskIndex(2)));
  EXPECT_FALSE(is_best_trial(for_loss_and_accuracy(), step, TaskIndex(1)));
  EXPECT_FALSE(is_best_trial(for_loss_and_accuracy(), step, TaskIndex(6)));
}

TEST(BestTrials, WithoutAWholeOneAreOfThoseThatCameFurthest) {
  brain::Study study;
  study.trials = {ended(TrialEnd::kPruned, 8, "3", "0.5"), ended(TrialEnd::kPruned, 8, "2", "0.4"),
                  ended(TrialEnd::kPruned, 4, "1", "0.9")};
  study.best = 1;
  EXPECT_EQ(ended_with(for_loss_and_accuracy(), study), Trials({0, 1}));
  const brain::Step goes_on = step_with(study, model::Status::kRunning);
  EXPECT_EQ(best_trials(for_loss_and_accuracy(), goes_on), Trials()) << "others may do better";
}

TEST(BestTrials, OfOneObjectiveAreOne) {
  model::SearchSpec search;
  search.objectives = {{"loss", false}};
  brain::Study study;
  study.trials.resize(2, {.params = {}, .reports = {{1, {"1"}}}, .moves = {}, .told = {}});
  study.trials[0].told = study.trials[1].told = TrialEnd::kComplete;
  study.best = 1;
  EXPECT_EQ(ended_with(search, study), Trials({1}));
}

}  // namespace
}  // namespace runnel::control
