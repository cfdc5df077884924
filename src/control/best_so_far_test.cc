#include "control/best_so_far.h"

#include <string>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

model::SearchSpec searching_for(bool maximize) {
  model::SearchSpec search;
  search.objectives = {{"accuracy", maximize}};
  return search;
}

brain::Trial reported(std::int64_t at, const std::string& value) {
  brain::Trial trial;
  trial.reports = {{at, {value}}};
  return trial;
}

std::optional<TaskIndex> leader(const model::SearchSpec& search, const brain::Study& study,
                                model::Status status = model::Status::kRunning) {
  brain::Step step;
  step.status = status;
  step.study = study;
  return best_so_far(search, step);
}

TEST(BestSoFar, IsTheBestOfThoseThatCameFurthest) {
  brain::Study study;
  EXPECT_EQ(leader(searching_for(true), study), std::nullopt);
  study.trials = {reported(4, "0.99"), brain::Trial(), reported(8, "0.91"), reported(8, "0.94")};
  EXPECT_EQ(leader(searching_for(true), study), TaskIndex(3));
  EXPECT_EQ(leader(searching_for(false), study), TaskIndex(2));
}

TEST(BestSoFar, HasNotEndedAndHasAValue) {
  brain::Study study;
  study.trials = {reported(16, "nan"), reported(8, "0.9"), reported(4, "0.5")};
  study.trials[1].told = model::TrialEnd::kFailed;
  EXPECT_EQ(leader(searching_for(true), study), TaskIndex(2));
  study.trials[2].told = model::TrialEnd::kFailed;
  EXPECT_EQ(leader(searching_for(true), study), std::nullopt);
}

TEST(BestSoFar, GivesWayToTheBest) {
  brain::Study study;
  study.trials = {reported(4, "0.5"), reported(8, "0.9")};
  study.trials[0].told = model::TrialEnd::kComplete;
  study.best = 0;
  EXPECT_EQ(leader(searching_for(true), study), std::nullopt);
}

TEST(BestSoFar, MayHaveBeenPruned) {
  brain::Study study;
  study.trials = {reported(4, "0.9"), reported(1, "0.2"), reported(4, "0.1")};
  study.trials[1].told = study.trials[2].told = model::TrialEnd::kPruned;
  study.best = 2;
  EXPECT_EQ(leader(searching_for(true), study), TaskIndex(0)) << "which goes on, and is better";
  EXPECT_EQ(leader(searching_for(false), study), TaskIndex(2));
  EXPECT_EQ(leader(searching_for(true), study, model::Status::kSucceeded), std::nullopt)
      << "the search is over, so it has a best trial";
}

TEST(BestSoFar, IsNoneOfSeveralObjectives) {
  model::SearchSpec search = searching_for(true);
  search.objectives.push_back({"seconds", false});
  brain::Study study;
  study.trials = {{.params = {}, .reports = {{4, {"0.5", "1"}}}, .moves = {}, .told = {}}};
  EXPECT_EQ(leader(search, study), std::nullopt);
}

TEST(BestSoFar, CountsWhatAMemberToldSinceItMoved) {
  brain::Study study;
  study.trials = {reported(8, "0.9"), reported(4, "0.5")};
  study.trials[0].moves = {{.donor = 1, .at = 8, .reports = 1, .left = {}}};
  EXPECT_EQ(leader(searching_for(true), study), TaskIndex(1));
}

}  // namespace
}  // namespace runnel::control
