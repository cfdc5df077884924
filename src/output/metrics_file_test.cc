#include "output/metrics_file.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::output {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

TEST(MetricLine, HoldsNumbersByNameAndPassesOverTheRest) {
  const MetricSample sample = MUST(parse_metric_line(
      R"({"step": 3, "loss": 0.250, "epoch": 1, "ts": 17.5, "rank": 8, "note": "x", "ok": true})",
      9));
  EXPECT_EQ(sample.step, 3);
  EXPECT_EQ(sample.values, (Values{{"epoch", "1"}, {"loss", "0.250"}}));
}

TEST(MetricLine, CountsStepsWhereNoneIsGiven) {
  EXPECT_EQ(MUST(parse_metric_line(R"({"loss": 1})", 4)).step, 4);
}

TEST(MetricLine, UnderstandsWhatPythonWritesForNoNumber) {
  const MetricSample sample = MUST(parse_metric_line(
      R"({"a": NaN, "b": -Infinity, "c": Infinity, "d": "nan", "NaN \" Infinity": 2})", 0));
  EXPECT_EQ(
      sample.values,
      (Values{{"NaN \" Infinity", "2"}, {"a", "nan"}, {"b", "-inf"}, {"c", "inf"}, {"d", "nan"}}));
}

TEST(MetricLine, RefusesAStepThatNoneCanFollow) {
  EXPECT_EQ(MUST(parse_metric_line(R"({"a": 1, "step": 1000000000000000})", 0)).step, kStepMax);
  EXPECT_FALSE(parse_metric_line(R"({"a": 1, "step": 1000000000000001})", 0).ok());
  EXPECT_FALSE(parse_metric_line(R"({"a": 1, "step": 9223372036854775807})", 0).ok());
}

TEST(MetricLine, RefusesWhatIsNoReport) {
  for (const char* line : {"", "3", "[1]", "{", R"({"note": "x"})", R"({"step": -1, "a": 1})",
                           R"({"step": 1.5, "a": 1})", R"({"a": 1, "a": 2})"}) {
    EXPECT_FALSE(parse_metric_line(line, 0).ok()) << line;
  }
}

class MetricsFileTest : public ::testing::Test {
 protected:
  void write(std::string_view text) { MUST(env::append_file(path_, text)); }

  std::vector<MetricSample> rest() {
    std::vector<MetricSample> all;
    file_.read_to_end([&all](std::vector<MetricSample> samples) {
      all.insert(all.end(), samples.begin(), samples.end());
    });
    return all;
  }

  env::testing::TemporaryDirectory folder_;
  const std::string path_ = folder_.path() + "/metrics.jsonl";
  MetricsFile file_{path_};
};

TEST_F(MetricsFileTest, IsEmptyUntilItIsThere) {
  EXPECT_TRUE(file_.read().empty());
  EXPECT_TRUE(file_.empty());
}

TEST_F(MetricsFileTest, Rank0SpeaksForTheTask) {
  write(
      "{\"loss\": 3}\n{\"loss\": 9, \"from_rank\": 2, \"step\": 8}\n{\"loss\": 2, \"from_rank\": "
      "0}\n");
  EXPECT_EQ(file_.read(), (std::vector<MetricSample>{{0, {{"loss", "3"}}}, {1, {{"loss", "2"}}}}));
  EXPECT_EQ(file_.bad_lines(), 0);
  MetricsFile all(path_, MetricsFile::Ranks::kAll);
  const std::vector<MetricSample> samples = all.read();
  ASSERT_EQ(samples.size(), 3U);
  EXPECT_EQ(samples[1].rank, 2);
  EXPECT_EQ(samples[1].step, 8);
}

TEST_F(MetricsFileTest, WhatIsSkippedIsNotRead) {
  write("{\"loss\": 3}\n");
  file_.skip();
  EXPECT_TRUE(file_.read().empty());
  write("{\"loss\": 2}\n");
  EXPECT_EQ(file_.read().size(), 1U);
  EXPECT_FALSE(file_.behind());
}

TEST_F(MetricsFileTest, ReadsEachWholeLineOnce) {
  write("{\"loss\": 3}\n{\"loss\": 2}\n{\"lo");
  EXPECT_EQ(file_.read().size(), 2U);
  EXPECT_TRUE(file_.read().empty());
  write("ss\": 1}\n");
  const std::vector<MetricSample> samples = file_.read();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].step, 2);
  EXPECT_EQ(samples[0].values, (Values{{"loss", "1"}}));
}

TEST_F(MetricsFileTest, ReadsALastLineWithoutItsEnd) {
  write("{\"loss\": 3}\n{\"loss\": 2}");
  EXPECT_EQ(rest().size(), 2U);
}

TEST_F(MetricsFileTest, KnowsTheLastValueOfEveryMetric) {
  write("{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"accuracy\": 0.5}\n");
  (void)rest();
  EXPECT_EQ(file_.latest(), (MetricSample{2, {{"accuracy", "0.5"}, {"loss", "3"}}}));
}

TEST_F(MetricsFileTest, PassesOverALineThatIsTooLong) {
  write("{\"loss\": 1}\n{\"note\": \"" + std::string(std::size_t{1} << 20, 'x') +
        "\"}\n{\"loss\": 2}\n");
  std::size_t samples = 0;
  for (int look = 0; look < 8; ++look) samples += file_.read().size();
  EXPECT_EQ(samples, 2U);
  EXPECT_EQ(file_.bad_lines(), 1);
  EXPECT_EQ(file_.latest().values, (Values{{"loss", "2"}}));
}

TEST_F(MetricsFileTest, AFileOfAnySizeComesInPieces) {
  std::string lines;
  while (lines.size() < 4 * MetricsFile::kReadBytesMax) lines += "{\"m\":1}\n";
  write(lines);
  std::size_t pieces = 0;
  std::size_t samples = 0;
  file_.read_to_end([&](const std::vector<MetricSample>& piece) {
    ++pieces;
    samples += piece.size();
    EXPECT_LE(piece.size(), MetricsFile::kReadBytesMax / 8);
  });
  EXPECT_GE(pieces, 4U);
  EXPECT_EQ(samples, lines.size() / 8);
}

TEST_F(MetricsFileTest, OfALongOneTheEndCanBeReadAlone) {
  write("{\"early\":1}\n{\"step\":7,\"loss\":9}\n");
  EXPECT_EQ(file_.read().size(), 2U);
  write(std::string(static_cast<std::size_t>(MetricsFile::kLastBytesMax), 'x') +
        "\n{\"step\":8,\"loss\":2}");
  file_.skip_to_last();
  EXPECT_EQ(rest(), (std::vector<MetricSample>{{8, {{"loss", "2"}}}}));
  EXPECT_EQ(file_.latest(), (MetricSample{8, {{"early", "1"}, {"loss", "2"}}}));
}

TEST_F(MetricsFileTest, IsReadWholeUpToALimitAndBeyondItInEvenPieces) {
  constexpr auto kLimit = std::int64_t{4} * MetricsFile::kReadBytesMax;
  const std::string line = "{\"step\": 1000000, \"a\": 1}\n";
  const auto steps_of = [&](std::int64_t size) {
    std::string text;
    for (int step = 1'000'001; std::ssize(text) + std::ssize(line) <= size; ++step) {
      text += "{\"step\": " + std::to_string(step) + ", \"a\": 1}\n";
    }
    text.append(static_cast<std::size_t>(size - std::ssize(text)), ' ');
    MUST(env::write_file_atomically(path_, text));
    MetricsFile file(path_);
    std::vector<std::int64_t> steps;
    const std::int64_t looked =
        file.read_evenly_to_end(kLimit, [&](std::vector<MetricSample> some) {
          for (const MetricSample& sample : some) steps.push_back(sample.step - 1'000'000);
        });
    EXPECT_EQ(looked, kLimit);
    EXPECT_EQ(steps.front(), 1);
    EXPECT_EQ(steps.back(), size / std::ssize(line));
    EXPECT_EQ(file.unread(), 0);
    return steps;
  };
  EXPECT_EQ(std::ssize(steps_of(kLimit)), kLimit / std::ssize(line));
  EXPECT_LT(std::ssize(steps_of(kLimit + 1)), kLimit / std::ssize(line));
  const std::vector<std::int64_t> steps = steps_of(10 * kLimit);
  EXPECT_NEAR(static_cast<double>(steps.size()), static_cast<double>(kLimit / std::ssize(line)), 9);
  std::int64_t gap = 0;
  for (std::size_t i = 1; i < steps.size(); ++i) gap = std::max(gap, steps[i] - steps[i - 1]);
  EXPECT_LT(gap, steps.back() / 3) << "no third of it is left out";
}

TEST_F(MetricsFileTest, CountsLinesThatAreNone) {
  write("loss=3\n\n{\"loss\": 1}\n");
  EXPECT_EQ(rest().size(), 1U);
  EXPECT_EQ(file_.bad_lines(), 1);
}

}  // namespace
}  // namespace runnel::output
