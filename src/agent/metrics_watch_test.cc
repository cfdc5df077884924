#include "agent/metrics_watch.h"

#include <gtest/gtest.h>

#include "agent/testing/dead_mount.h"
#include "async/gate.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/metrics_file.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

using model::MetricReport;

class MetricsWatchTest : public ::testing::Test {
 protected:
  ~MetricsWatchTest() override { (void)loop_->block_on(gate_.close()); }

  runner::AttemptOnNode trial(std::int64_t index, const std::string& job = "job") const {
    return {NodeId("n"), {{JobId(job), StepIndex(0), TaskIndex(index)}, AttemptNumber(1)}};
  }
  void write(std::int64_t index, const std::string& line) const {
    const std::string folder = output::task_folder(home_.path(), trial(index).attempt.task);
    MUST(env::make_directories(folder));
    MUST(env::append_file(output::metrics_path(folder), line + "\n"));
  }
  void follow(std::int64_t index) { watch_.follow(trial(index), nullptr, 0); }
  std::vector<MetricReport> end_of(std::int64_t index) {
    auto reports = MUST(loop_->block_on(watch_.finish({trial(index)}, Duration(), gate_.token())));
    return reports[trial(index)];
  }
  void run() { MUST(loop_->spawn(gate_, watch_.run(gate_.token()))); }
  void turn(Duration duration) { (void)loop_->block_on(loop_->sleep(duration)); }
  void until_told(std::size_t count) {
    for (int look = 0; look < 2'000 && told_.size() < count; ++look) turn(Duration::millis(5));
    ASSERT_EQ(told_.size(), count);
  }

  env::testing::TemporaryDirectory home_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  async::Gate gate_{*loop_};
  std::vector<MetricReport> told_;
  MetricsWatch watch_{*loop_, env::real_clock(), home_.path(),
                      [this](const NodeId&, const std::vector<MetricReport>& reports) {
                        told_.insert(told_.end(), reports.begin(), reports.end());
                      },
                      Duration::millis(300)};
};

TEST_F(MetricsWatchTest, TellsEachReportOnceAndTheLastAtTheEnd) {
  follow(0);
  run();
  write(0, R"({"step": 1, "loss": 3})");
  until_told(1);
  write(0, R"({"step": 2, "loss": 2})");
  until_told(2);
  const std::vector<MetricReport> end = end_of(0);
  ASSERT_EQ(end.size(), 1u) << "all was told but that it is the last";
  EXPECT_TRUE(end[0].last);
  EXPECT_EQ(end[0].step, 2);
  EXPECT_FALSE(watch_.follows(trial(0)));
}

TEST_F(MetricsWatchTest, TheEndTellsWhatNobodyLookedAt) {
  follow(0);
  write(0, R"({"step": 1, "loss": 3})");
  const std::vector<MetricReport> end = end_of(0);
  ASSERT_EQ(end.size(), 2u);
  EXPECT_FALSE(end[0].last);
  EXPECT_TRUE(end[1].last);
  EXPECT_TRUE(end_of(0).empty()) << "it is told once";
}

TEST_F(MetricsWatchTest, ALookAndAnEndShareWhatIsThere) {
  run();
  for (std::int64_t index = 0; index < 50; ++index) {
    follow(index);
    for (int step = 0; step < 20; ++step) {
      write(index, R"({"step": )" + std::to_string(step) + R"(, "loss": 1})");
      if (step % 7 == 0) turn(Duration::millis(1));
    }
    for (const MetricReport& report : end_of(index)) {
      if (!report.last) told_.push_back(report);
    }
  }
  std::map<std::int64_t, std::vector<std::int64_t>> steps;
  for (const MetricReport& report : told_) {
    steps[report.attempt.task.index.value()].push_back(report.step);
  }
  std::vector<std::int64_t> all(20);
  for (std::size_t step = 0; step < all.size(); ++step) all[step] = static_cast<int>(step);
  ASSERT_EQ(steps.size(), 50u);
  for (const auto& [index, found] : steps) EXPECT_EQ(found, all) << "trial " << index;
}

TEST_F(MetricsWatchTest, WhoIsForgottenDuringALookIsNotToldOf) {
  follow(0);
  std::string lines;  // So many that a look takes a while.
  for (int step = 0; step < 50'000; ++step) {
    lines += R"({"step": )" + std::to_string(step) + R"(, "loss": 1})" + "\n";
  }
  write(0, lines);
  run();
  turn(MetricsWatch::kEvery + Duration::millis(1));  // It has begun, and is not told yet.
  watch_.forget_all();
  const std::size_t told = told_.size();
  turn(Duration::millis(300));
  EXPECT_EQ(told_.size(), told);
}

TEST_F(MetricsWatchTest, AJobWhoseFilesNeverAnswerHoldsUpNoOther) {
  const runner::AttemptOnNode of_dead = trial(0, "dead");
  testing::DeadMount mount(output::task_folder(home_.path(), of_dead.attempt.task));
  if (!mount.mounted()) GTEST_SKIP() << "only root mounts a file system";
  watch_.follow(of_dead, nullptr, 0);
  follow(0);
  run();
  write(0, R"({"step": 1, "loss": 3})");
  until_told(1);
  EXPECT_EQ(end_of(0).size(), 1U);
  auto ended =
      MUST(loop_->block_on(watch_.finish({of_dead}, MetricsWatch::kAskAgain, gate_.token())));
  EXPECT_TRUE(ended[of_dead].empty()) << "its end is told in the end without what nobody can read";
  EXPECT_FALSE(watch_.follows(of_dead));
}

TEST_F(MetricsWatchTest, WhoEndsWhileAnotherJobStandsStillWasToldOf) {
  const runner::AttemptOnNode of_dead = trial(0, "later");
  testing::DeadMount mount(output::task_folder(home_.path(), of_dead.attempt.task));
  if (!mount.mounted()) GTEST_SKIP() << "only root mounts a file system";
  write(0, R"({"step": 1, "loss": 3})");
  follow(0);
  watch_.follow(of_dead, nullptr, 0);
  run();
  turn(Duration::millis(180));  // The first job was looked at, the other stands still.
  EXPECT_EQ(end_of(0).size(), 1U) << "the last one";
  turn(Duration::millis(500));
  ASSERT_EQ(told_.size(), 1U);
  EXPECT_EQ(told_[0].step, 1);
}

TEST_F(MetricsWatchTest, FilesThatStoodStillAreReadFromTheirBeginning) {
  model::MetricSources sources;
  sources.tensorboard = "events";
  const output::MetricPlanPtr plan =
      MUST(output::keep_metric_plan(home_.path(), JobId("job"), StepIndex(0), sources, {"loss"}));
  write(0, R"({"step": 1, "loss": 2})");
  testing::DeadMount mount(output::task_folder(home_.path(), trial(0).attempt.task) + "/events");
  if (!mount.mounted()) GTEST_SKIP() << "only root mounts a file system";
  watch_.follow(trial(0), plan, 0);
  run();
  turn(Duration::seconds(1));  // The thread that looks has the file's line, and is left alone.
  EXPECT_TRUE(told_.empty());
  mount.end();
  until_told(1);
}

TEST_F(MetricsWatchTest, AnEndWaitsForFilesThatAnswerLater) {
  const runner::AttemptOnNode of_slow = trial(0, "slow");
  const std::string folder = output::task_folder(home_.path(), of_slow.attempt.task);
  MUST(env::make_directories(folder));
  MUST(env::append_file(output::metrics_path(folder), "{\"step\": 7, \"loss\": 2}\n"));
  testing::DeadMount mount(folder);
  if (!mount.mounted()) GTEST_SKIP() << "only root mounts a file system";
  watch_.follow(of_slow, nullptr, 0);
  async::Timer timer(*loop_);
  timer.start(Duration::seconds(1), [&mount] { mount.end(); });
  auto ended =
      MUST(loop_->block_on(watch_.finish({of_slow}, Duration::seconds(60), gate_.token())));
  ASSERT_FALSE(ended[of_slow].empty());
  EXPECT_EQ(ended[of_slow].back().step, 7);
  EXPECT_TRUE(ended[of_slow].back().last);
}

TEST_F(MetricsWatchTest, NothingIsReadWhileNobodyMayBeTold) {
  watch_.pause();
  follow(0);
  write(0, R"({"step": 1, "loss": 3})");
  run();
  turn(Duration::millis(100));
  EXPECT_TRUE(told_.empty());
  watch_.go_on();
  until_told(1);
}

}  // namespace
}  // namespace runnel::agent
