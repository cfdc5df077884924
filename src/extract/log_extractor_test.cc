#include "extract/log_extractor.h"

#include <map>
#include <tuple>

#include <gtest/gtest.h>

namespace runnel::extract {
namespace {

using model::LogPattern;
using Values = std::vector<std::pair<std::string, std::string>>;

// As Caffe prints it.
constexpr std::string_view kCaffe =
    "I0713 10:20:30.000001 77 solver.cpp:330] Iteration 0, Testing net (#0)\n"
    "I0713 10:20:31.000001 77 solver.cpp:397]     Test net output #0: accuracy = 0.1\n"
    "I0713 10:20:31.000002 77 solver.cpp:397]     Test net output #1: loss = 2.302 (* 1 = 2.302 "
    "loss)\n"
    "I0713 10:20:31.500001 77 solver.cpp:218] Iteration 0 (0 iter/s, 0.1s/100 iters), loss = "
    "2.301\n"
    "I0713 10:20:31.500002 77 sgd_solver.cpp:105] Iteration 0, lr = 0.01\n"
    "I0713 10:20:35.500001 77 solver.cpp:218] Iteration 100 (25 iter/s, 4s/100 iters), loss = 0.5\n"
    "I0713 10:20:35.500002 77 sgd_solver.cpp:105] Iteration 100, lr = 0.009\n"
    "I0713 10:20:36.000001 77 solver.cpp:330] Iteration 100, Testing net (#0)\n"
    "I0713 10:20:37.000001 77 solver.cpp:397]     Test net output #0: accuracy = 0.9375\n"
    "I0713 10:20:37.000002 77 solver.cpp:397]     Test net output #1: loss = nan (* 1 = nan "
    "loss)\n";

std::vector<MetricSample> extracted(const std::vector<LogPattern>& patterns, std::string_view log,
                                    std::size_t piece = SIZE_MAX) {
  LogExtractor extractor(MUST(compile(patterns)));
  std::vector<MetricSample> samples;
  while (!log.empty()) {
    extractor.add(log.substr(0, piece), samples);
    log.remove_prefix(std::min(piece, log.size()));
  }
  extractor.end(samples);
  return samples;
}

using Course = std::vector<std::pair<std::int64_t, std::string>>;

std::map<std::string, Course> courses(const std::vector<MetricSample>& samples) {
  std::map<std::string, Course> all;
  for (const MetricSample& sample : samples) {
    for (const auto& [name, value] : sample.values) all[name].emplace_back(sample.step, value);
  }
  return all;
}

const std::vector<LogPattern> kByLine = {
    {"train", "Iteration %{INT:step} .*, loss = %{FLOAT:loss}"},
    {"train", "Iteration %{INT:step}, lr = %{FLOAT:lr}"},
    {"test", "%{GLOG_STAMP:stamp}.*Iteration %{INT:step}, Testing net"},
    {"test", "Test net output #%{INT}: accuracy = %{FLOAT:accuracy}"},
    {"test", "Test net output #%{INT}: loss = %{FLOAT:loss}"}};

const std::map<std::string, Course> kCourses = {{"test/accuracy", {{0, "0.1"}, {100, "0.9375"}}},
                                                {"test/loss", {{0, "2.302"}, {100, "nan"}}},
                                                {"train/loss", {{0, "2.301"}, {100, "0.5"}}},
                                                {"train/lr", {{0, "0.01"}, {100, "0.009"}}}};

TEST(LogExtractor, FindsTrainAndTestInALogOfCaffe) {
  EXPECT_EQ(courses(extracted(kByLine, kCaffe)), kCourses);
}

// As in a manifest of FfDL: one pattern over several lines.
TEST(LogExtractor, LooksAtSeveralLinesTogether) {
  const std::vector<LogPattern> patterns = {
      {"train",
       "%{GLOG_STAMP:glogstamp}.*solver.cpp:.*Iteration %{INT:iteration} \\(.*loss = "
       "%{FLOAT:loss}.*\n.*.lr = %{FLOAT:lr}",
       4, "iteration"},
      {"test",
       "%{GLOG_STAMP:glogstamp}.*Iteration %{INT:iteration}, Testing.*\n.*Test net output .* "
       "accuracy = %{FLOAT:accuracy}\n.*Test net output .* loss = %{FLOAT:loss}",
       4, "iteration"}};
  EXPECT_EQ(courses(extracted(patterns, kCaffe)), kCourses);
}

TEST(LogExtractor, FindsTheSameHoweverTheOutputWasCut) {
  for (const std::size_t piece : {1U, 2U, 7U, 64U, 100U}) {
    EXPECT_EQ(courses(extracted(kByLine, kCaffe, piece)), kCourses) << piece;
  }
}

TEST(LogExtractor, UsesALineOncePerPattern) {
  const std::vector<LogPattern> patterns = {{"", "loss\\s(?s:.*)%{FLOAT:loss}", 3}};
  EXPECT_EQ(extracted(patterns, "loss 1\nx\ny\nloss\n2\n").size(), 2U);
}

TEST(LogExtractor, CountsMatchesBeforeThereIsAStep) {
  const std::vector<LogPattern> patterns = {{"", "loss=%{FLOAT:loss}"}, {"", "at %{INT:step}"}};
  const Course expected = {{0, "3"}, {1, "2"}, {40, "1"}};
  EXPECT_EQ(courses(extracted(patterns, "loss=3\nloss=2\nat 40\nloss=1")).at("loss"), expected);
}

TEST(LogExtractor, JoinsWhatIsSaidOfOneStep) {
  const std::vector<LogPattern> patterns = {{"", "%{INT:step} b=%{FLOAT:b}"}, {"", "a=%{FLOAT:a}"}};
  const std::vector<MetricSample> expected = {{1, {{"a", "2"}, {"b", "1"}}}, {1, {{"a", "3"}}}};
  EXPECT_EQ(extracted(patterns, "1 b=1\na=2\na=3\n"), expected);
}

TEST(LogExtractor, ReadsEachStateOfAProgressBarInColours) {
  const std::vector<LogPattern> patterns = {{"", "^%{INT:step}% loss=%{FLOAT:loss}$"}};
  const Course expected = {{1, "0.5"}, {2, "0.25"}};
  EXPECT_EQ(
      courses(extracted(patterns, "\x1b[2K\r\x1b[1;32m1%\x1b[0m loss=0.5\r2% loss=0.25\r\n", 3))
          .at("loss"),
      expected);
}

TEST(LogExtractor, TakesNoStepThatIsNoNumberAndNoValueThatIsNone) {
  const std::vector<LogPattern> patterns = {{"", "(?P<step>\\S+) (?P<loss>\\S+)"}};
  const std::vector<MetricSample> expected = {{4, {{"loss", "1"}}}, {4, {{"loss", "2"}}}};
  EXPECT_EQ(extracted(patterns, "4 1\nx 2\n5.5 none\n"), expected);
}

TEST(LogExtractor, LooksAtTheBeginningOfALongLine) {
  const std::string rest(LineSplitter::kLineBytesMax, 'x');
  EXPECT_EQ(extracted({{"", "loss=%{FLOAT:loss}"}}, "loss=1 " + rest + "\nloss=2\n").size(), 2U);
  EXPECT_EQ(extracted({{"", "loss=%{FLOAT:loss}"}}, rest + "loss=1\nloss=2\n").size(), 1U);
}

TEST(LogExtractor, DropsTheRestOfALineWhoseBeginningItHasNotSeen) {
  LogExtractor extractor(MUST(compile({{"", "%{INT:n}$"}})));
  std::vector<MetricSample> samples;
  extractor.add("12", samples);
  extractor.skip_line();
  extractor.add("34\n5\n", samples);
  EXPECT_EQ(samples, (std::vector<MetricSample>{{0, {{"n", "5"}}}}));
}

TEST(Compile, SaysWhichPatternIsNone) {
  const Result<Patterns> patterns = compile({{"", "%{INT:a}"}, {"", "("}});
  ASSERT_FALSE(patterns.ok());
  EXPECT_EQ(patterns.error().field, "[1].regex");
}

}  // namespace
}  // namespace runnel::extract
