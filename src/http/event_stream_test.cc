#include "http/event_stream.h"

#include <vector>

#include <gtest/gtest.h>

namespace runnel::http {
namespace {

std::vector<SseEvent> feed_in_pieces(const std::string& bytes, std::size_t size) {
  SseSplitter splitter;
  std::vector<SseEvent> events;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    EXPECT_TRUE(splitter.feed(std::string_view(bytes).substr(at, size)).ok());
    while (std::optional<SseEvent> event = splitter.next()) events.push_back(*event);
  }
  return events;
}

TEST(Sse, EventsSurviveAnyCut) {
  std::vector<SseEvent> sent = {
      {"1", "state", "{\"a\":1}"}, {"2", "", "two\nlines\n"}, {"", "", ""}};
  std::string bytes = sse_heartbeat();
  for (const SseEvent& event : sent) bytes += encode_sse(event) + sse_heartbeat();
  for (std::size_t size = 1; size < bytes.size() + 1; ++size) {
    EXPECT_EQ(feed_in_pieces(bytes, size), sent) << "cut every " << size;
  }
}

TEST(Sse, FieldsOfAnEventCannotForgeAnother) {
  SseEvent event{.id = "1\ndata: x", .event = "a\r\nid: 9", .data = "d"};
  std::vector<SseEvent> read = feed_in_pieces(encode_sse(event), 100);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].id, "1 data: x");
  EXPECT_EQ(read[0].data, "d");
}

TEST(Sse, AcceptsOtherWritersHabits) {
  EXPECT_EQ(
      feed_in_pieces("data:x\r\ndata\r\nretry: 5\r\nunknown: y\r\n\r\nevent: no data\n\n", 100),
      (std::vector<SseEvent>{{"", "", "x\n"}}));
}

TEST(Lines, AreCutAtAnyEnd) {
  LineSplitter splitter;
  ASSERT_TRUE(splitter.feed("one\ntw").ok());
  EXPECT_EQ(splitter.next(), "one");
  EXPECT_EQ(splitter.next(), std::nullopt);
  ASSERT_TRUE(splitter.feed("o\r\n\nlast").ok());
  EXPECT_EQ(splitter.next(), "two");
  EXPECT_EQ(splitter.next(), "");
  EXPECT_EQ(splitter.next(), std::nullopt);
  EXPECT_EQ(splitter.rest(), "last");
  EXPECT_EQ(splitter.rest(), "");
}

TEST(Lines, AnEndlessLineIsRefused) {
  LineSplitter splitter;
  std::string piece(std::size_t{1} << 20, 'x');
  Result<void> fed = splitter.feed(piece);
  int pieces = 1;
  for (; fed.ok() && pieces < 100; ++pieces) fed = splitter.feed(piece);
  EXPECT_EQ(fed.error().code, Errc::kFull);
  EXPECT_EQ(pieces, 17);
}

TEST(Lines, ManyShortLinesInOnePieceAreFine) {
  LineSplitter splitter;
  std::string piece;
  for (int i = 0; i < 100'000; ++i) piece += "line\n";
  ASSERT_TRUE(splitter.feed(piece).ok());
  int count = 0;
  while (splitter.next().has_value()) ++count;
  EXPECT_EQ(count, 100'000);
}

TEST(Sse, AnEndlessEventIsRefused) {
  SseSplitter splitter;
  std::string piece = "data: " + std::string(std::size_t{1} << 20, 'x') + "\n";
  Result<void> fed;
  int pieces = 0;
  for (; fed.ok() && pieces < 100; ++pieces) {
    fed = splitter.feed(piece);
    EXPECT_EQ(splitter.next(), std::nullopt);
  }
  EXPECT_EQ(fed.error().code, Errc::kFull);
  EXPECT_LE(pieces, 18);
}

}  // namespace
}  // namespace runnel::http
