#include "control/event_ring.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace runnel::control {
namespace {

EventRecord record(std::int64_t seq, const std::string& job = "a", std::size_t bytes = 10) {
  return {EventSeq(seq), JobId(job), std::string(bytes, 'x')};
}

EventQuery query(std::int64_t after, const std::string& job = "", std::size_t limit = 100) {
  return {EventSeq(after), JobId(job), limit};
}

TEST(EventRing, ReadsWhatCameAfterTheCursor) {
  EventRing ring(EventSeq(5));
  for (std::int64_t seq = 6; seq <= 10; ++seq) ring.push(record(seq));
  const auto page = ring.read(query(7));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->events.size(), 3U);
  EXPECT_EQ(page->events.front().seq, EventSeq(8));
  EXPECT_EQ(page->through, EventSeq(10));
}

TEST(EventRing, SaysNothingNewAtTheEnd) {
  EventRing ring(EventSeq(5));
  const auto page = ring.read(query(5));
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->events.empty());
  EXPECT_EQ(page->through, EventSeq(5));
}

TEST(EventRing, KnowsNothingFromBeforeItBegan) {
  EventRing ring(EventSeq(5));
  ring.push(record(6));
  EXPECT_FALSE(ring.read(query(4)));
  EXPECT_TRUE(ring.read(query(5)));
}

TEST(EventRing, MovesThroughEventsOfOtherJobs) {
  EventRing ring(EventSeq(0));
  for (std::int64_t seq = 1; seq <= 9; ++seq) ring.push(record(seq, seq % 3 == 0 ? "b" : "a"));
  const auto page = ring.read(query(0, "b", 2));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->events.size(), 2U);
  EXPECT_EQ(page->events.back().seq, EventSeq(6));
  const auto rest = ring.read(query(page->through.value(), "b", 2));
  EXPECT_EQ(rest->events.size(), 1U);
  EXPECT_EQ(rest->through, EventSeq(9));
}

TEST(EventRing, ForgetsTheOldestAtItsMaximum) {
  EventRing ring(EventSeq(0));
  const auto count = static_cast<std::int64_t>(EventRing::kEventsMax) + 10;
  for (std::int64_t seq = 1; seq <= count; ++seq) ring.push(record(seq));
  EXPECT_EQ(ring.size(), EventRing::kEventsMax);
  EXPECT_FALSE(ring.read(query(9)));
  EXPECT_TRUE(ring.read(query(10)));
}

TEST(EventRing, ForgetsTheOldestWhenItHoldsTooManyBytes) {
  EventRing ring(EventSeq(0));
  for (std::int64_t seq = 1; seq <= 40; ++seq) ring.push(record(seq, "a", std::size_t{1} << 20));
  EXPECT_LE(ring.size(), 16U);
  EXPECT_GE(ring.size(), 15U);
}

TEST(EventDocument, PutsPlaceAndTimeBeforeTheEvent) {
  const std::string text =
      event_document(EventSeq(7), Time::from_millis(1'700'000'000'123), "{\"type\":\"x\"}");
  EXPECT_EQ(text, "{\"seq\":7,\"time\":\"2023-11-14T22:13:20.123Z\",\"type\":\"x\"}");
  EXPECT_TRUE(json::parse(text).ok());
}

TEST(EventRingDeath, RefusesAGap) {
  EventRing ring(EventSeq(5));
  EXPECT_DEATH(ring.push(record(7)), "missing");
}

}  // namespace
}  // namespace runnel::control
