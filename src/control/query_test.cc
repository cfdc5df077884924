#include "control/query.h"

#include <gtest/gtest.h>

#include "control/log_lines.h"
#include "json/value.h"

namespace runnel::control {
namespace {

http::Request ask(http::Request::Pairs query) {
  http::Request request = http::Request::get("/");
  request.query = std::move(query);
  return request;
}

TEST(Query, ReadsLimits) {
  EXPECT_EQ(MUST(limit_of(ask({}))), kPageDefault);
  EXPECT_EQ(MUST(limit_of(ask({{"limit", "7"}}))), 7);
  for (const char* bad : {"0", "-1", "1001", "x", "1x", "9999999999999999999999"}) {
    auto limit = limit_of(ask({{"limit", bad}}));
    ASSERT_FALSE(limit.ok()) << bad;
    EXPECT_EQ(limit.error().field, "limit");
    EXPECT_EQ(limit.error().code, Errc::kInvalid);
  }
}

TEST(Query, ReadsLengthsOfTime) {
  EXPECT_EQ(MUST(duration_of(ask({}), "notice", Duration::seconds(3))), Duration::seconds(3));
  EXPECT_EQ(MUST(duration_of(ask({{"notice", "2m"}}), "notice", {})), Duration::minutes(2));
  EXPECT_EQ(MUST(duration_of(ask({{"notice", "0s"}}), "notice", {})), Duration());
  for (const char* bad : {"12", "-1s", "8d", "soon"}) {
    const auto length = duration_of(ask({{"notice", bad}}), "notice", {});
    ASSERT_FALSE(length.ok()) << bad;
    EXPECT_EQ(length.error().field, "notice");
  }
}

TEST(Query, ReadsFlags) {
  EXPECT_EQ(MUST(flag_of(ask({}), "watch")), Flag::kOff);
  EXPECT_EQ(MUST(flag_of(ask({{"watch", ""}}), "watch")), Flag::kOn);
  EXPECT_EQ(MUST(flag_of(ask({{"watch", "1"}}), "watch")), Flag::kOn);
  EXPECT_EQ(MUST(flag_of(ask({{"watch", "false"}}), "watch")), Flag::kOff);
  EXPECT_FALSE(flag_of(ask({{"watch", "maybe"}}), "watch").ok());
}

TEST(Query, ReadsStatusesInAnyCase) {
  EXPECT_EQ(MUST(status_of(ask({{"status", "failed"}}), "status")), model::Status::kFailed);
  EXPECT_EQ(MUST(status_of(ask({}), "status")), std::nullopt);
  EXPECT_FALSE(status_of(ask({{"status", "lost"}}), "status").ok());
}

TEST(Query, ReadsSinceAsAgeOrMoment) {
  const Time now = Time::from_millis(1'700'000'000'000);
  EXPECT_EQ(MUST(since_of(ask({{"since", "10m"}}), now)), now - Duration::minutes(10));
  EXPECT_EQ(MUST(since_of(ask({{"since", rfc3339(now)}}), now)), now);
  EXPECT_EQ(since_of(ask({{"since", "yesterday"}}), now).error().to_string(),
            "since: 'yesterday' is neither a length of time nor a moment; "
            "write 10m, 2h30m or 2026-11-21T14:05:28Z");
}

TEST(Query, NamesTheNearestParameter) {
  auto known = known_only(ask({{"folow", "1"}}), {"follow", "tail"});
  ASSERT_FALSE(known.ok());
  EXPECT_NE(known.error().hint.find("'follow'"), std::string::npos);
  EXPECT_TRUE(known_only(ask({{"tail", "1"}}), {"follow", "tail"}).ok());
}

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
