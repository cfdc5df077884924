#include "control/progress.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

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

TEST(Progress, AFailureTellsNothingOfThePace) {
  StepWork work;
  work.tasks = 4;
  work.ended = work.failed = 1;  // At once.
  work.running = Duration::seconds(30);
  for (int place = 0; place < 3; ++place) work.live.push_back({Duration::seconds(30), {}, {}});
  EXPECT_EQ(progress_of(work).done, 0.25);
  EXPECT_FALSE(progress_of(work).left);
  work.live.resize(1);
  ++work.ended;  // After twenty seconds, at the only place.
  work.live.front().running = Duration::seconds(10);
  EXPECT_LT(off_by(progress_of(work), 30), 0.05) << "half of one, and another";
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

// A search of 40 trials at two places. Three of four rest after a second, the fourth goes on for
// eight: 2.75 seconds a trial, of the ten that a whole one would take.
struct Search {
  static constexpr int kTrials = 40;
  static double seconds(int trial) { return trial % 4 == 3 ? 8 : 1; }

  struct Run {
    int trial;
    double from;
  };
  std::vector<Run> runs;
  double end = 0;

  Search() {
    double free[2] = {0, 0};
    for (int trial = 0; trial < kTrials; ++trial) {
      double& place = free[0] <= free[1] ? free[0] : free[1];
      runs.push_back({trial, place});
      place += seconds(trial);
    }
    end = std::max(free[0], free[1]);
  }

  StepWork at(double now) const {
    StepWork work;
    work.tasks = kTrials;
    work.running = Duration::millis(static_cast<std::int64_t>(now * 1000));
    work.resting = 0;
    for (const Run& run : runs) {
      if (run.from > now) continue;
      const double running = now - run.from;
      if (running >= seconds(run.trial)) {
        ++*work.resting;
        work.paused += seconds(run.trial) / 10;
      } else {
        work.live.push_back({Duration::millis(static_cast<std::int64_t>(running * 1000)),
                             running / 10, Duration()});
      }
    }
    return work;
  }
};

TEST(Progress, ASearchIsEstimatedByTrialsThatAreThrough) {
  const Search search;
  EXPECT_FALSE(progress_of(search.at(0.9)).left) << "no trial is through";
  EXPECT_FALSE(progress_of(search.at(1.5)).left) << "two are, at two places";
  for (double now = search.end / 2; now < search.end - 3; now += 0.7) {
    const double truth = search.end - now;
    const std::optional<Duration> left = progress_of(search.at(now)).left;
    ASSERT_TRUE(left) << now;
    const double said = static_cast<double>(left->millis()) / 1000;
    // Nobody knows which trials will be among the long ones of eight seconds.
    EXPECT_LT(std::abs(said - truth), std::max(0.4 * truth, 8.0)) << now << ": " << said;
  }
}

TEST(Progress, ATaskThatWasTriedAgainIsEstimatedByItsOwnPace) {
  StepWork work;
  work.running = Duration::seconds(300);  // Most of it was lost.
  work.live.push_back({Duration::seconds(10), 0.6, Duration(), 0.5});
  EXPECT_LT(off_by(progress_of(work), 40), 0.05) << "a tenth took ten seconds";
  work.live.front().begun_at.reset();
  EXPECT_FALSE(progress_of(work).left) << "where it began was not seen";
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
