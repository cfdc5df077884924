#include "agent/health_watch.h"

#include <gtest/gtest.h>

#include "agent/testing/dead_mount.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/manual_clock.h"
#include "env/testing/temporary_directory.h"
#include "output/log_index.h"
#include "output/metrics_begin.h"
#include "output/paths.h"
#include "runner/folders.h"

namespace runnel::agent {
namespace {

using model::HealthAction;
using model::HealthProblem;

// A gang of three whose output and metrics the test writes.
class HealthWatchTest : public ::testing::Test {
 protected:
  HealthWatchTest() {
    MUST(env::make_directories(output::logs_folder(home_.path(), JobId("job"))));
    MUST(env::make_directories(output::task_folder(home_.path(), ref(1).task)));
    order_.attempt = ref(1);
    order_.rank_count = order_.world_size = 3;
    order_.health.hang = model::HangPolicy{Duration::seconds(5), HealthAction::kWarn};
    order_.health.nan = model::NanPolicy{"", HealthAction::kWarn};
    order_.health.straggler = model::StragglerPolicy{3'000, HealthAction::kWarn};
  }
  static model::AttemptRef ref(int attempt) {
    return {{JobId("job"), StepIndex(0), TaskIndex(0)}, AttemptNumber(attempt)};
  }
  std::string logs() const { return output::logs_folder(home_.path(), JobId("job")); }

  // The runner's part: where the ranks write, and that they run.
  void begin(int attempt = 1) {
    std::string records;
    for (const std::int32_t rank : {0, 1, 2}) {
      output::IndexRecord record;
      record.slot = 4;
      record.rank = rank;
      record.attempt = attempt;
      output::append_record(records, record);
      for (const auto stream : {model::LogStream::kOut, model::LogStream::kErr}) {
        MUST(env::append_file(output::segment_path(logs(), 4, rank, stream), ""));
      }
    }
    MUST(env::append_file(output::index_path(logs()), records));
    watch_.begin({node_, ref(attempt)});
  }
  void follow(HealthWatch::Begun begun = HealthWatch::Begun::kNo) {
    watch_.follow(node_, order_, begun, {});
  }
  void write(std::int32_t rank) {
    MUST(env::append_file(output::segment_path(logs(), 4, rank, model::LogStream::kOut),
                          "a line\n"));
  }
  void report(const std::string& line) {
    MUST(env::append_file(output::metrics_path(output::task_folder(home_.path(), ref(1).task)),
                          line + "\n"));
  }
  HealthWatch::Found look(Duration passed = Duration::seconds(1)) {
    clock_.advance(passed);
    return MUST(loop_->block_on(watch_.look()));
  }

  env::testing::TemporaryDirectory home_;
  env::testing::ManualClock clock_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  const NodeId node_{"local"};
  HealthWatch watch_{*loop_, clock_, home_.path(), nullptr};
  model::WatchOrder order_;
};

TEST_F(HealthWatchTest, ARankThatFallsSilentIsToldOnce) {
  follow();
  EXPECT_TRUE(look().empty());
  begin();
  for (int second = 0; second < 5; ++second) {
    for (const std::int32_t rank : {0, 1, 2}) write(rank);
    EXPECT_TRUE(look().empty());
  }
  int told = 0;
  for (int second = 1; second <= 20; ++second) {
    write(0);
    write(2);
    for (const auto& [node, found] : look()) {
      ++told;
      EXPECT_EQ(node, node_);
      EXPECT_EQ(found.problem, HealthProblem::kHung);
      EXPECT_EQ(found.rank, 1);
      EXPECT_EQ(found.silent_for, Duration::seconds(5));
      EXPECT_EQ(found.since, clock_.wall() - Duration::seconds(5));
      EXPECT_EQ(second, 5);
    }
  }
  EXPECT_EQ(told, 1);
}

TEST_F(HealthWatchTest, AMetricLineIsASignOfLife) {
  follow();
  begin();
  for (int second = 0; second < 20; ++second) {
    for (const char* rank : {"0", "1", "2"}) {
      report(R"({"loss": 1, "step": )" + std::to_string(second) + R"(, "from_rank": )" + rank +
             "}");
    }
    EXPECT_TRUE(look().empty());
  }
}

TEST_F(HealthWatchTest, OfSeveralTheOneFurthestBehindIsTold) {
  follow();
  begin();
  look();
  for (const std::int32_t rank : {2, 1, 0}) {
    const int step = rank == 1 ? 41 : 42;
    report(R"({"loss": 1, "step": )" + std::to_string(step) + R"(, "from_rank": )" +
           std::to_string(rank) + "}");
  }
  look();
  HealthWatch::Found found;
  while (found.empty()) found = look();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.rank, 1);
  EXPECT_EQ(found[0].second.step, 41);
  EXPECT_EQ(found[0].second.silent_others, 2);
}

TEST_F(HealthWatchTest, WhatWasNotWatchedIsNoSilence) {
  follow();
  begin();
  EXPECT_TRUE(look().empty());
  EXPECT_TRUE(look(Duration::hours(8)).empty()) << "suspended, or stopped";
  EXPECT_TRUE(look(Duration::hours(8)).empty());
  EXPECT_EQ(look().size(), 1U) << "two times two seconds, and this one";
}

TEST_F(HealthWatchTest, NobodyIsSilentBeforeItRunsOrWhereNobodyCanLook) {
  follow();
  for (int second = 0; second < 20; ++second) EXPECT_TRUE(look().empty());
  watch_.begin({node_, ref(1)});  // No record says where it writes.
  for (int second = 0; second < 20; ++second) EXPECT_TRUE(look().empty());
}

TEST_F(HealthWatchTest, WhoIsOverIsNotSilent) {
  follow();
  begin();
  look();
  for (const std::int32_t rank : {0, 1, 2}) watch_.end({ref(1), rank});
  for (int second = 0; second < 20; ++second) EXPECT_TRUE(look().empty());
}

TEST_F(HealthWatchTest, AfterARestartSilenceBeginsAnewAndTheLogIsFoundAgain) {
  begin();
  follow(HealthWatch::Begun::kYes);
  int seconds = 0;
  while (look().empty()) ++seconds;
  EXPECT_EQ(seconds, 5);
}

TEST_F(HealthWatchTest, TheFirstNanIsToldWithItsRankAndStep) {
  follow();
  begin();
  report(R"({"loss": 1, "step": 6, "from_rank": 2})");
  EXPECT_TRUE(look().empty());
  report(R"({"loss": NaN, "step": 7, "from_rank": 2})");
  report(R"({"loss": Infinity, "step": 8, "from_rank": 0})");
  const HealthWatch::Found found = look();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.rank, 2);
  EXPECT_EQ(found[0].second.step, 7);
  EXPECT_EQ(found[0].second.metric, "loss");
  EXPECT_EQ(found[0].second.value, "nan");
}

TEST_F(HealthWatchTest, OnlyTheMetricThatIsAskedFor) {
  order_.health.nan->metric = "loss";
  follow();
  begin();
  report(R"({"grad": NaN, "loss": 1, "from_rank": 1})");
  report(R"({"loss": NaN, "from_rank": 7})");
  EXPECT_TRUE(look().empty());
}

TEST_F(HealthWatchTest, TheLastLineIsReadBeforeTheEnd) {
  follow();
  begin();
  look();
  report(R"({"loss": NaN, "step": 9})");
  const HealthWatch::Found found = MUST(loop_->block_on(watch_.finish({{ref(1), 0}})));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.rank, 0);
}

// After the first one's last words nothing is left to tell of a NaN; the second has ended all the
// same, and is not the silent one.
TEST_F(HealthWatchTest, RanksThatEndTogetherHaveAllEnded) {
  follow();
  begin();
  for (const std::int32_t rank : {0, 1, 2}) write(rank);
  look();
  report(R"({"loss": NaN, "step": 9})");
  EXPECT_EQ(MUST(loop_->block_on(watch_.finish({{ref(1), 0}, {ref(1), 1}}))).size(), 1U);
  std::vector<std::int32_t> hung;
  for (int second = 0; second < 20; ++second) {
    for (const auto& [node, found] : look()) hung.push_back(found.rank);
  }
  EXPECT_EQ(hung, std::vector<std::int32_t>{2});
}

TEST_F(HealthWatchTest, WhatAnEarlierAttemptReportedIsItsOwn) {
  report(R"({"loss": NaN, "step": 9})");
  order_.attempt = ref(2);
  follow();
  begin(2);
  EXPECT_TRUE(look().empty());
  report(R"({"loss": NaN, "step": 3, "from_rank": 1})");
  EXPECT_EQ(look().size(), 1U);
}

TEST_F(HealthWatchTest, ASlowRankIsToldByItsOwnMeasure) {
  follow();
  begin();
  HealthWatch::Found found;
  for (int step = 1; step <= 3; ++step) {
    EXPECT_TRUE(found.empty());
    for (const int rank : {0, 1, 2}) {
      report(R"({"step": )" + std::to_string(step) + R"(, "step_seconds": )" +
             (rank == 2 ? "0.9" : "0.25") + R"(, "from_rank": )" + std::to_string(rank) + "}");
    }
    found = look();
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.problem, HealthProblem::kSlow);
  EXPECT_EQ(found[0].second.rank, 2);
  EXPECT_EQ(found[0].second.took, Micros::count(900'000));
  EXPECT_EQ(found[0].second.median, Micros::count(250'000));
}

TEST_F(HealthWatchTest, WhereAnAttemptBeganItsOwnReportsBegin) {
  report(R"({"loss": NaN, "step": 9})");
  const output::MetricsBegin begin = output::look_at_metrics(home_.path(), ref(2), nullptr);
  MUST(output::keep_metrics_begin(home_.path(), ref(2).task, begin));
  report(R"({"loss": NaN, "step": 1, "from_rank": 1})");  // Before the first look.
  order_.attempt = ref(2);
  follow();
  const HealthWatch::Found found = look();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.step, 1);
}

TEST_F(HealthWatchTest, AJobWhoseFilesNeverAnswerHoldsUpNoOther) {
  model::WatchOrder other = order_;
  other.attempt.task.job = JobId("other");
  MUST(env::make_directories(output::task_folder(home_.path(), other.attempt.task)));
  testing::DeadMount mount(output::task_folder(home_.path(), ref(1).task));
  if (!mount.mounted()) GTEST_SKIP() << "only root mounts a file system";
  HealthWatch watch(*loop_, env::real_clock(), home_.path(), nullptr, Duration::millis(200));
  watch.follow(node_, order_, HealthWatch::Begun::kYes, {});
  watch.follow(node_, other, HealthWatch::Begun::kYes, {});
  MUST(env::append_file(output::metrics_path(output::task_folder(home_.path(), other.attempt.task)),
                        R"({"loss": NaN, "step": 1})"
                        "\n"));
  const HealthWatch::Found found = MUST(loop_->block_on(watch.look()));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].second.attempt, other.attempt);
  EXPECT_TRUE(MUST(loop_->block_on(watch.finish({{ref(1), 0}}))).empty());
}

TEST_F(HealthWatchTest, NothingIsToldOfWhatIsNotAskedFor) {
  order_.health = {};
  order_.health.straggler = model::StragglerPolicy{3'000, HealthAction::kWarn};
  follow();
  begin();
  report(R"({"loss": NaN})");
  for (int second = 0; second < 20; ++second) EXPECT_TRUE(look().empty());
}

}  // namespace
}  // namespace runnel::agent
