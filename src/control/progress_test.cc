#include "control/progress.h"

#include <cmath>

#include <gtest/gtest.h>

namespace runnel::control {
namespace {

double off_by(const StepProgress& progress, double truth) {
  if (!progress.left) return 1;
  return std::abs(static_cast<double>(progress.left->millis()) / 1000 - truth) / truth;
}

// One task of 100 seconds that reports every `every` seconds.
StepWork training_at(double second, double every) {
  StepWork work;
  work.running = Duration::millis(static_cast<std::int64_t>(second * 1000));
  const double last = std::floor(second / every) * every;
  TaskProgress task{work.running, std::nullopt, {}};
  if (last > 0) task.told = last / 100;
  task.told_ago = Duration::millis(static_cast<std::int64_t>((second - last) * 1000));
  work.live.push_back(task);
  return work;
}

// 200 tasks of one second, two at a time, that tell nothing.
StepWork sweep_at(double second) {
  StepWork work;
  work.tasks = 200;
  work.running = Duration::millis(static_cast<std::int64_t>(second * 1000));
  work.ended = 2 * static_cast<std::int64_t>(second);
  const double since = second - std::floor(second);
  for (int place = 0; place < 2; ++place) {
    work.live.push_back({Duration::millis(static_cast<std::int64_t>(since * 1000)), {}, {}});
  }
  return work;
}

TEST(Progress, ATrainingIsEstimatedBetweenItsReports) {
  double before = 0;
  for (double second = 1; second < 99; second += 0.7) {
    const StepProgress progress = progress_of(training_at(second, 10));
    EXPECT_GE(progress.done, before);
    before = progress.done;
    if (second > 50) EXPECT_LT(off_by(progress, 100 - second), 0.1) << second;
  }
  EXPECT_DOUBLE_EQ(before, 0.9);
}

TEST(Progress, ASweepIsEstimatedByItsEnds) {
  double before = 0;
  for (double second = 1; second < 99; second += 0.7) {
    const StepProgress progress = progress_of(sweep_at(second));
    EXPECT_GE(progress.done, before);
    before = progress.done;
    if (second > 50) EXPECT_LT(off_by(progress, 100 - second), 0.1) << second;
  }
}

TEST(Progress, NothingIsGuessedFromNothing) {
  StepWork work;
  work.running = Duration::seconds(60);
  work.live.push_back({Duration::seconds(60), {}, {}});
  EXPECT_EQ(progress_of(work).done, 0);
  EXPECT_FALSE(progress_of(work).left);
}

TEST(Progress, WhatIsOverTakesNoTime) {
  StepWork work;
  work.tasks = work.ended = 3;
  work.running = Duration::seconds(9);
  EXPECT_EQ(progress_of(work).done, 1);
  EXPECT_EQ(progress_of(work).left, Duration());
}

TEST(Progress, ALieIsNotBelieved) {
  StepWork work;
  work.running = Duration::seconds(10);
  work.live.push_back({Duration::seconds(10), 7.5, Duration::seconds(20)});
  EXPECT_EQ(progress_of(work).done, 1);
  EXPECT_EQ(progress_of(work).left, Duration());
}

}  // namespace
}  // namespace runnel::control
