#include "control/log_lines.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::control {
namespace {

TEST(LogLines, SplitsFoldsAndMarksTheCursor) {
  model::LogPiece piece;
  piece.attempt = {{JobId("a"), StepIndex(0), TaskIndex(3)}, AttemptNumber(2)};
  piece.rank = 1;
  piece.stream = model::LogStream::kErr;
  piece.arrived_at = Time::from_millis(1'700'000'000'000);
  piece.bytes = "one\n10%\r50%\r100%\r\n\xff last";
  piece.cursor = "c7";
  std::string text;
  LogLines(piece, "train").append(text, piece.bytes.size());
  std::vector<json::Value> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(MUST(json::parse(text.substr(at, end - at))));
    at = end + 1;
  }
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].find("msg")->as_text(), "one");
  EXPECT_EQ(lines[0].find("cursor"), nullptr);
  EXPECT_EQ(lines[0].find("step")->as_text(), "train");
  EXPECT_EQ(lines[0].find("stream")->as_text(), "stderr");
  EXPECT_EQ(lines[0].find("task")->as_int(), 3);
  EXPECT_EQ(lines[1].find("msg")->as_text(), "100%");
  EXPECT_EQ(lines[2].find("msg")->as_text(), "\xEF\xBF\xBD last");
  EXPECT_EQ(lines[2].find("cursor")->as_text(), "c7");
}

TEST(LogLines, InPartsTheyAreTheSame) {
  model::LogPiece piece;
  piece.bytes = "one\ntwo\n\nthree";
  piece.cursor = "c7";
  std::string whole;
  LogLines(piece, "s").append(whole, piece.bytes.size());
  for (std::size_t bytes = 1; bytes < piece.bytes.size(); ++bytes) {
    std::string text;
    for (LogLines lines(piece, "s"); !lines.done();) lines.append(text, bytes);
    EXPECT_EQ(text, whole) << bytes;
  }
}

}  // namespace
}  // namespace runnel::control
