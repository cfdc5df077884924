#include "output/attempt_metrics.h"

#include <signal.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/log_index.h"
#include "output/metrics_begin.h"
#include "output/metrics_file.h"
#include "output/metrics_reader.h"
#include "output/paths.h"
#include "output/sample_keeper.h"

namespace runnel::output {
namespace {

using model::LogStream;
using model::MetricSample;

const std::string kEvents =
    std::string(RUNNEL_SOURCE_DIR) + "/test/golden/tensorboard/tensors.tfevents";

TEST(LatestMetrics, StandAtTheStepOfTheObjectives) {
  LatestMetrics latest;
  EXPECT_FALSE(latest.sample({"acc"}));
  latest.take({{1'000, {{"loss", "3"}}}, {2, {{"acc", "0.5"}}}, {3, {{"acc", "0.6"}}}});
  EXPECT_EQ(latest.sample({"acc"}), (MetricSample{3, {{"acc", "0.6"}, {"loss", "3"}}}));
  EXPECT_EQ(latest.sample({"acc", "other"})->step, 1'000);
  EXPECT_EQ(latest.sample({})->step, 1'000);
}

// A job's folder with the output of lanes, as a runner writes it.
class AttemptMetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    MUST(env::make_directories(logs_));
    MUST(env::make_directories(task_folder(home_.path(), attempt_.task)));
  }

  MetricPlanPtr plan(const std::vector<std::string>& objectives = {"loss"}) {
    return MUST(keep_metric_plan(
        home_.path(), job_, StepIndex(0),
        {{{"", "at %{INT:step}: loss=%{FLOAT:loss}"}, {"", "lr=%{FLOAT:lr}"}}, "tb"}, objectives));
  }
  void print(std::string_view text, LogStream stream = LogStream::kOut, std::uint32_t slot = 0) {
    MUST(env::append_file(segment_path(logs_, slot, 0, stream), text));
  }
  void note(IndexRecord::Kind kind, std::int64_t task, std::int64_t out, std::int32_t attempt = 1) {
    IndexRecord record;
    record.kind = kind;
    record.task = task;
    record.attempt = attempt;
    record.offset[0] = out;
    std::string bytes;
    append_record(bytes, record);
    MUST(env::append_file(index_path(logs_), bytes));
  }
  void drop(std::int64_t begin, std::int64_t end) {
    IndexRecord record;
    record.kind = IndexRecord::Kind::kGap;
    record.attempt = 1;
    record.gap_begin[0] = begin;
    record.gap_end[0] = end;
    std::string bytes;
    append_record(bytes, record);
    MUST(env::append_file(index_path(logs_), bytes));
  }
  std::vector<MetricSample> page_of_first_task() {
    model::MetricFilter filter;
    filter.job = job_;
    const model::MetricPage page = MUST(read_metrics(home_.path(), filter));
    return page.series.empty() ? std::vector<MetricSample>() : page.series[0].samples;
  }

  env::testing::TemporaryDirectory home_;
  const JobId job_{"job"};
  const std::string logs_ = logs_folder(home_.path(), job_);
  const model::AttemptRef attempt_{{job_, StepIndex(0), TaskIndex(0)}, AttemptNumber(1)};
};

const MetricSample kFirst = {1, {{"loss", "3"}}};
const MetricSample kSecond = {2, {{"loss", "2"}}};

TEST_F(AttemptMetricsTest, PassesOnWhatIsPrintedAsItIs) {
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\nlr=5\nat 2: lo");
  EXPECT_TRUE(metrics.look().empty());  // How far it goes is known from the next look on.
  const MetricSample joined = {1, {{"loss", "3"}, {"lr", "5"}}};
  EXPECT_EQ(metrics.look(), std::vector<MetricSample>{joined});
  print("ss=2");
  EXPECT_TRUE(metrics.look().empty());
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{kSecond});
  EXPECT_EQ(metrics.latest(), (MetricSample{2, {{"loss", "2"}, {"lr", "5"}}}));
}

TEST_F(AttemptMetricsTest, LeavesTheNextAttemptOfTheLaneItsOutput) {
  note(IndexRecord::Kind::kStart, 7, 0);
  print("at 9: loss=9\n");
  note(IndexRecord::Kind::kEnd, 7, 13);
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 2);
  note(IndexRecord::Kind::kStart, 0, 13);
  print("at 1: loss=3\n");
  note(IndexRecord::Kind::kEnd, 0, 26);
  note(IndexRecord::Kind::kStart, 8, 26);
  print("at 8: loss=8\n");
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{kFirst});
}

TEST_F(AttemptMetricsTest, ReadsTheTwoStreamsApart) {
  AttemptMetrics metrics(home_.path(), attempt_, plan({"lr"}), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 5: loss=3\nlr=1\n");
  print("lr=2\n", LogStream::kErr);
  const std::vector<MetricSample> expected = {{5, {{"loss", "3"}, {"lr", "1"}}},
                                              {0, {{"lr", "2"}}}};
  EXPECT_EQ(metrics.finish(), expected);
}

TEST_F(AttemptMetricsTest, StepsOverWhatMaxLogDropped) {
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\n" + std::string(1'000, '\0') + "at 2: loss=2\n");
  drop(13, 1'013);
  EXPECT_EQ(metrics.finish(), (std::vector<MetricSample>{kFirst, kSecond}));
}

TEST_F(AttemptMetricsTest, LooksAtTheEndOfWhatIsTooMuch) {
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\n");
  std::string lines;
  for (int i = 0; i < 1 << 16; ++i) lines += "no metric, but many of such lines ...\n";
  for (std::int64_t had = 0; had <= OutputMetrics::kLastBytesMax;
       had += static_cast<std::int64_t>(lines.size())) {
    print(lines);
  }
  print("at 2: loss=2\n");
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{kSecond});
}

// The runner gives an attempt that emptied its output a slot of its own when it ends.
TEST_F(AttemptMetricsTest, ReadsWhatAnAttemptThatEmptiedItsOutputHas) {
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 0);
  note(IndexRecord::Kind::kStart, 0, 100);
  note(IndexRecord::Kind::kEnd, 0, 100);
  print("at 1: loss=3\n", LogStream::kOut, 9);
  for (const auto kind : {IndexRecord::Kind::kStart, IndexRecord::Kind::kEnd}) {
    IndexRecord apart;
    apart.kind = kind;
    apart.slot = 9;
    apart.attempt = 1;
    apart.offset[0] = kind == IndexRecord::Kind::kEnd ? 13 : 0;
    std::string bytes;
    append_record(bytes, apart);
    MUST(env::append_file(index_path(logs_), bytes));
  }
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{kFirst});
}

TEST_F(AttemptMetricsTest, TellsOnlyWhatItsSearchLooksAt) {
  AttemptMetrics metrics(home_.path(), attempt_, plan({"lr"}), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\nat 2: loss=2\nlr=1\n");
  const MetricSample with_rate = {2, {{"loss", "2"}, {"lr", "1"}}};
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{with_rate});
}

TEST_F(AttemptMetricsTest, TellsEachOtherNameOnceUntilTheObjectiveIsThere) {
  AttemptMetrics metrics(home_.path(), attempt_, plan({"lr"}), 0);
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\nat 2: loss=2\n");
  EXPECT_TRUE(metrics.look().empty());
  EXPECT_EQ(metrics.look(), std::vector<MetricSample>{kFirst});
  print("at 3: loss=1\nlr=1\nat 4: loss=0.5\n");
  EXPECT_EQ(metrics.look(), (std::vector<MetricSample>{{3, {{"loss", "1"}, {"lr", "1"}}}}));
}

TEST_F(AttemptMetricsTest, LooksAtEventFilesNowAndThen) {
  AttemptMetrics metrics(home_.path(), attempt_, plan(), 0);
  EXPECT_TRUE(metrics.look().empty());
  const std::string board = task_folder(home_.path(), attempt_.task) + "/tb";
  MUST(env::make_directories(board));
  MUST(env::copy_file(kEvents, board + "/tfevents"));
  std::size_t told = 0;
  for (int i = 0; i < AttemptMetrics::kEventsEvery; ++i) told += metrics.look().size();
  EXPECT_EQ(told, 4U);
  EXPECT_EQ(metrics.latest()->step, 30);
}

TEST_F(AttemptMetricsTest, WithoutAPlanThereIsTheFileAlone) {
  AttemptMetrics metrics(home_.path(), attempt_, nullptr, 0);
  EXPECT_FALSE(metrics.latest());
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\n");
  MUST(env::append_file(metrics_path(task_folder(home_.path(), attempt_.task)), "{\"mine\": 1}\n"));
  EXPECT_EQ(metrics.look(), (std::vector<MetricSample>{{0, {{"mine", "1"}}}}));
  EXPECT_EQ(metrics.latest(), (MetricSample{0, {{"mine", "1"}}}));
  EXPECT_TRUE(metrics.finish().empty());
}

// A first attempt has reported up to step 5, and failed.
class RetriedMetricsTest : public AttemptMetricsTest {
 protected:
  void SetUp() override {
    AttemptMetricsTest::SetUp();
    for (int step = 1; step <= 5; ++step) write(step, "0.1");
    keep_begin(nullptr);
  }
  void keep_begin(const MetricPlanPtr& plan) {
    const MetricsBegin begin = look_at_metrics(home_.path(), retry_, plan);
    MUST(keep_metrics_begin(home_.path(), retry_.task, begin));
  }
  std::string path() const { return metrics_path(task_folder(home_.path(), attempt_.task)); }
  static std::string line(int step, const std::string& loss) {
    return R"({"step": )" + std::to_string(step) + R"(, "loss": )" + loss + "}\n";
  }
  void write(int step, const std::string& loss) {
    MUST(env::append_file(path(), line(step, loss)));
  }
  void write_anew(int step, const std::string& loss) {
    MUST(env::remove_file(path()));
    write(step, loss);
  }

  const model::AttemptRef retry_{attempt_.task, AttemptNumber(2)};
  const MetricSample last_ = {3, {{"loss", "0.7"}}};
};

TEST_F(RetriedMetricsTest, TellsWhatTheRetryWroteAlone) {
  AttemptMetrics metrics(home_.path(), retry_, nullptr, 0);
  EXPECT_TRUE(metrics.look().empty());
  EXPECT_FALSE(metrics.latest());
  write(3, "0.7");
  EXPECT_EQ(metrics.finish(), std::vector<MetricSample>{last_});
  EXPECT_EQ(metrics.latest(), last_);
}

TEST_F(RetriedMetricsTest, TellsTheSameToWhoeverComesLater) {
  write(3, "0.7");
  AttemptMetrics metrics(home_.path(), retry_, nullptr, 0);
  EXPECT_EQ(metrics.look(), std::vector<MetricSample>{last_});
  EXPECT_EQ(AttemptMetrics(home_.path(), attempt_, nullptr, 0).look().size(), 6U)
      << "nothing was kept for the first";
}

TEST_F(RetriedMetricsTest, FindsWhatARetryWroteFromTheBeginningOfTheFile) {
  AttemptMetrics before(home_.path(), retry_, nullptr, 0);
  AttemptMetrics after(home_.path(), retry_, nullptr, 0);
  EXPECT_TRUE(before.look().empty());
  write_anew(3, "0.7");
  EXPECT_EQ(before.finish(), std::vector<MetricSample>{last_}) << "while it was followed";
  EXPECT_EQ(after.finish(), std::vector<MetricSample>{last_}) << "before the first look";
}

TEST_F(RetriedMetricsTest, FindsAFileOfTheSameSizeThatWasWrittenAnew) {
  write_anew(1, "0.1");
  keep_begin(nullptr);
  AttemptMetrics metrics(home_.path(), retry_, nullptr, 0);
  EXPECT_TRUE(metrics.look().empty());
  write_anew(1, "0.7");
  EXPECT_EQ(metrics.finish(), (std::vector<MetricSample>{{1, {{"loss", "0.7"}}}}));
}

TEST_F(RetriedMetricsTest, KeepsWhatWasKeptWhenTheDiskTakesNoMore) {
  const MetricsBegin kept = metrics_begin_of(home_.path(), retry_);
  ASSERT_EQ(kept.attempt, 2);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const Result<void> again = keep_metrics_begin(home_.path(), retry_.task, kept);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(again.ok());
  EXPECT_EQ(metrics_begin_of(home_.path(), retry_), kept);
}

TEST_F(RetriedMetricsTest, NothingStaysOfABeginThatAKillCutShort) {
  const MetricsBegin kept = metrics_begin_of(home_.path(), retry_);
  const std::string folder = job_folder(home_.path(), retry_.task.job) + "/metrics";
  const std::string name = MUST(env::list_directory(folder)).front();
  MUST(env::append_file(folder + "/" + name + ".tmp-1-3", "{"));
  MUST(keep_metrics_begin(home_.path(), retry_.task, kept));
  EXPECT_EQ(MUST(env::list_directory(folder)), std::vector<std::string>{name});
}

TEST_F(RetriedMetricsTest, PassesOverTheEventsOfEarlierAttempts) {
  const std::string board = task_folder(home_.path(), attempt_.task) + "/tb";
  MUST(env::make_directories(board));
  MUST(env::copy_file(kEvents, board + "/1.tfevents"));
  keep_begin(plan());
  AttemptMetrics metrics(home_.path(), retry_, plan(), 0);
  EXPECT_TRUE(metrics.look().empty());
  MUST(env::copy_file(kEvents, board + "/2.tfevents"));
  EXPECT_EQ(metrics.finish().size(), 4U);
}

TEST_F(AttemptMetricsTest, JoinsAllSourcesForThoseWhoReadLater) {
  plan();
  MUST(env::append_file(metrics_path(task_folder(home_.path(), attempt_.task)),
                        "{\"step\": 0, \"mine\": 1}\n"));
  const std::string board = task_folder(home_.path(), attempt_.task) + "/tb";
  MUST(env::make_directories(board));
  MUST(env::copy_file(kEvents, board + "/tfevents"));
  note(IndexRecord::Kind::kStart, 0, 0);
  print("at 1: loss=3\n");
  note(IndexRecord::Kind::kEnd, 0, 13);
  note(IndexRecord::Kind::kStart, 0, 13, 2);
  print("at 2: loss=2\n");
  const std::vector<MetricSample> samples = page_of_first_task();
  ASSERT_EQ(samples.size(), 6U);
  EXPECT_EQ(samples[0].values.size(), 3U);  // Two tags of the first step, and the file's.
  EXPECT_EQ(samples[1], kFirst);
  EXPECT_EQ(samples[2], kSecond);
  EXPECT_EQ(samples[5].step, 30);
}

TEST_F(AttemptMetricsTest, PagesOverTasksThatLeftOnlyOutput) {
  plan({});
  for (std::int64_t task = 1; task < 40; ++task) {
    note(IndexRecord::Kind::kStart, task, task * 13);
    note(IndexRecord::Kind::kEnd, task, (task + 1) * 13);
  }
  print("at 0: nothing");
  for (int i = 1; i < 40; ++i) print(i % 10 == 0 ? "at 1: loss=3\n" : "at 1: silent\n");
  model::MetricFilter filter;
  filter.job = job_;
  filter.series_max = 2;
  std::vector<std::int64_t> tasks;
  int pages = 0;
  for (bool more = true; more; ++pages) {
    const model::MetricPage page = MUST(read_metrics(home_.path(), filter));
    for (const model::MetricSeries& series : page.series) tasks.push_back(series.task.value());
    more = page.next.has_value();
    if (more) filter.from = *page.next;
    ASSERT_LT(pages, 50);
  }
  EXPECT_EQ(tasks, (std::vector<std::int64_t>{10, 20, 30}));
}

TEST_F(AttemptMetricsTest, APageHoldsSoManyBytesAndIsFollowedByAnother) {
  constexpr int kTasks = 12;
  std::string text;
  for (int line = 0; line < 100; ++line) {
    text += "{\"" + std::string(10'000, 'n') + "\": " + std::to_string(line) + "}\n";
  }
  for (int task = 0; task < kTasks; ++task) {
    const std::string folder = task_folder(home_.path(), {job_, StepIndex(0), TaskIndex(task)});
    MUST(env::make_directories(folder));
    MUST(env::write_file_atomically(metrics_path(folder), text));
  }
  model::MetricFilter filter;
  filter.job = job_;
  std::size_t most = 0;
  std::int64_t tasks = 0;
  for (bool more = true; more;) {
    const model::MetricPage page = MUST(read_metrics(home_.path(), filter));
    std::size_t held = 0;
    for (const model::MetricSeries& series : page.series) {
      EXPECT_EQ(series.task.value(), tasks++);
      EXPECT_EQ(series.samples.size(), 100U);
      for (const MetricSample& sample : series.samples) held += bytes_of(sample);
    }
    most = std::max(most, held);
    more = page.next.has_value();
    if (more) filter.from = *page.next;
  }
  EXPECT_EQ(tasks, kTasks);
  EXPECT_GT(most, kMetricPageBytesMax / 2) << "the test comes near the limit";
  EXPECT_LE(most, kMetricPageBytesMax + 2 * text.size());
}

TEST_F(AttemptMetricsTest, SaysWhenOfALargeFileAPartIsRead) {
  const std::string folder = task_folder(home_.path(), {job_, StepIndex(0), TaskIndex(0)});
  MUST(env::make_directories(folder));
  const std::string line = "{\"loss\": 1}\n";
  model::MetricFilter filter;
  filter.job = job_;
  filter.bytes_max = std::int64_t{1} << 20;
  std::string text(static_cast<std::size_t>(filter.bytes_max), '\n');
  text.replace(text.size() - line.size(), line.size(), line);
  MUST(env::write_file_atomically(metrics_path(folder), text));
  EXPECT_FALSE(MUST(read_metrics(home_.path(), filter)).series.at(0).truncated);
  MUST(env::append_file(metrics_path(folder), line));
  EXPECT_TRUE(MUST(read_metrics(home_.path(), filter)).series.at(0).truncated);
}

TEST_F(AttemptMetricsTest, PlansOutliveTheAgent) {
  const MetricPlanPtr kept = plan();
  const MetricPlanPtr found = load_metric_plan(home_.path(), job_, StepIndex(0));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->sources, kept->sources);
  EXPECT_EQ(found->objectives, kept->objectives);
  EXPECT_EQ(found->patterns->size(), 2U);
  EXPECT_EQ(load_metric_plan(home_.path(), job_, StepIndex(1)), nullptr);
  EXPECT_FALSE(keep_metric_plan(home_.path(), job_, StepIndex(2), {{{"", "("}}, ""}, {}).ok());
  EXPECT_EQ(MUST(steps_with_plans(home_.path(), job_)), std::vector<StepIndex>{StepIndex(0)});
}

TEST_F(AttemptMetricsTest, ADamagedPlanIsNoneAndIsWrittenAgain) {
  plan();
  const std::string path = job_folder(home_.path(), job_) + "/metrics/0.json";
  MUST(env::remove_file(path));
  MUST(env::append_file(path, "{\"sour"));
  EXPECT_EQ(load_metric_plan(home_.path(), job_, StepIndex(0)), nullptr);
  EXPECT_NE(plan(), nullptr);
  EXPECT_NE(load_metric_plan(home_.path(), job_, StepIndex(0)), nullptr);
}

}  // namespace
}  // namespace runnel::output
