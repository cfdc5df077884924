#include "search/median_stopping.h"

#include <limits>

#include <gtest/gtest.h>

namespace runnel::search {
namespace {

model::PrunerSpec median_spec(std::int32_t startup_trials) {
  return {.kind = model::PrunerSpec::Kind::kMedian,
          .min_step = 10,
          .max_step = 50,
          .every = 10,
          .startup_trials = startup_trials};
}

// A trial that reports `value` at each of the steps and ends.
void run_to_end(MedianStopping& pruner, std::int64_t trial, double value) {
  for (const std::int64_t step : {10, 20, 30, 40}) (void)pruner.reported(trial, step, value);
  pruner.ended(trial);
}

TEST(MedianStopping, JudgesAtItsSteps) {
  const MedianStopping pruner(median_spec(0));
  EXPECT_EQ(pruner.next_step(0, 0), 10);
  EXPECT_EQ(pruner.next_step(0, 10), 20);
  EXPECT_EQ(pruner.next_step(0, 39), 40);
  EXPECT_EQ(pruner.next_step(0, 40), std::nullopt);  // 50 is the end.
  const MedianStopping endless({.min_step = 1, .every = 1'000});
  EXPECT_EQ(endless.next_step(0, std::numeric_limits<std::int64_t>::max() - 5), std::nullopt);
}

TEST(MedianStopping, StopsWhatIsWorseThanTheMedian) {
  MedianStopping pruner(median_spec(3));
  run_to_end(pruner, 0, 1);
  run_to_end(pruner, 1, 2);
  run_to_end(pruner, 2, 9);
  EXPECT_EQ(pruner.reported(3, 10, 2), Verdict::kGoOn);  // As good as the median.
  EXPECT_EQ(pruner.reported(4, 10, 2.1), Verdict::kStop);
  EXPECT_EQ(pruner.reported(4, 20, 0), Verdict::kStop);  // While it ends.
}

TEST(MedianStopping, WaitsForTheFirstOnesToEnd) {
  MedianStopping pruner(median_spec(2));
  run_to_end(pruner, 0, 1);
  EXPECT_EQ(pruner.reported(1, 10, 5), Verdict::kGoOn);
  pruner.ended(1);
  pruner.ended(1);
  EXPECT_EQ(pruner.reported(2, 10, 9), Verdict::kStop);
}

TEST(MedianStopping, ComparesAverages) {
  MedianStopping pruner(median_spec(1));
  (void)pruner.reported(0, 10, 8);
  (void)pruner.reported(0, 20, 2);  // An average of 5 here.
  pruner.ended(0);
  EXPECT_EQ(pruner.reported(1, 10, 8), Verdict::kGoOn);
  EXPECT_EQ(pruner.reported(1, 20, 2), Verdict::kGoOn);
  EXPECT_EQ(pruner.reported(2, 10, 7), Verdict::kGoOn);
  EXPECT_EQ(pruner.reported(2, 20, 4), Verdict::kStop);  // 5.5, although 4 is a good value here.
}

TEST(MedianStopping, AWorseReportAfterAGoodOneIsForgiven) {
  MedianStopping pruner(median_spec(1));
  run_to_end(pruner, 0, 3);
  EXPECT_EQ(pruner.reported(1, 10, 1), Verdict::kGoOn);
  EXPECT_EQ(pruner.reported(1, 20, 5), Verdict::kGoOn);
}

// Those that run and those that were stopped are others too.
TEST(MedianStopping, ComparesWithAllThatReported) {
  MedianStopping pruner(median_spec(1));
  run_to_end(pruner, 0, 1);
  EXPECT_EQ(pruner.reported(1, 10, 5), Verdict::kStop);
  EXPECT_EQ(pruner.reported(2, 10, 3), Verdict::kGoOn);  // The middle between 1 and 5.
  EXPECT_EQ(pruner.reported(3, 10, 3.5), Verdict::kStop);
}

TEST(MedianStopping, AReportCountsForTheLastStepItReached) {
  MedianStopping pruner(median_spec(1));
  run_to_end(pruner, 0, 1);
  EXPECT_EQ(pruner.reported(1, 7, 5), Verdict::kGoOn);  // Before the first.
  EXPECT_EQ(pruner.reported(1, 35, 5), Verdict::kStop);
  EXPECT_EQ(pruner.reported(2, 10, 4), Verdict::kStop);  // 1 is alone there: 35 left no trace.
  MedianStopping other(median_spec(1));
  other.ended(9);
  EXPECT_EQ(other.reported(0, 35, 5), Verdict::kGoOn);
  EXPECT_EQ(other.reported(1, 20, 9), Verdict::kGoOn);  // Nobody to compare with.
  EXPECT_EQ(other.reported(1, 39, 9), Verdict::kStop);
}

TEST(MedianStopping, WhoIsAtTheEndIsNotJudged) {
  MedianStopping pruner(median_spec(1));
  run_to_end(pruner, 0, 1);
  EXPECT_EQ(pruner.reported(1, 50, 5), Verdict::kGoOn);
  EXPECT_EQ(pruner.promotable(), std::nullopt);
}

TEST(MedianStoppingDeathTest, BrokenContracts) {
  MedianStopping pruner(median_spec(1));
  pruner.ended(0);
  EXPECT_DEATH((void)pruner.reported(0, 10, 1), "after its end");
  EXPECT_DEATH((void)pruner.reported(1, 10, std::numeric_limits<double>::infinity()), "no number");
  EXPECT_DEATH(pruner.promoted(1), "none is ever paused");
  EXPECT_DEATH(MedianStopping({.every = 0}), "do not move on");
}

}  // namespace
}  // namespace runnel::search
