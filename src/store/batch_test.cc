#include "store/batch.h"

#include <random>

#include <gtest/gtest.h>

#include "hash/sha256.h"
#include "json/value.h"

namespace runnel::store {
namespace {

Batch sample() {
  return {.seq = BatchSeq(7),
          .first_event = EventSeq(20),
          .event_count = 2,
          .epoch = Epoch(3),
          .now = Time::from_millis(1'700'000'000'123),
          .input = R"({"type":"tick"})",
          .events = R"([{"a":1},{"b":"x"}])",
          .hash = ""};
}

constexpr std::string_view kSampleText =
    R"({"count":2,"epoch":3,"events":[{"a":1},{"b":"x"}],"first":20,"format":1,)"
    R"("input":{"type":"tick"},"now":1700000000123,"seq":7})";

// The sample's text with a part replaced.
std::string changed(std::string_view from, std::string_view to) {
  std::string text(kSampleText);
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Batch, HasOneText) {
  EXPECT_EQ(canonical_text(sample()), kSampleText);
  EXPECT_EQ(MUST(json::parse(kSampleText)).dump(), kSampleText);
}

TEST(Batch, IsReadBack) {
  EXPECT_EQ(MUST(parse_batch(kSampleText)), sample());
  Batch empty = sample();
  empty.event_count = 0;
  empty.events = "[]";
  EXPECT_EQ(MUST(parse_batch(canonical_text(empty))), empty);
  EXPECT_EQ(empty.next_event(), empty.first_event);
}

TEST(Batch, ItsHashIsALinkOfTheChain) {
  EXPECT_EQ(chained_hash("", sample()), hash::chain("", kSampleText));
  EXPECT_NE(chained_hash("", sample()), chained_hash("00", sample()));
}

TEST(Batch, ItsHashDependsOnEveryField) {
  const std::string original = chained_hash("", sample());
  std::vector<Batch> others(7, sample());
  others[0].seq = BatchSeq(8);
  others[1].first_event = EventSeq(21);
  others[2].event_count = 3;
  others[3].epoch = Epoch(4);
  others[4].now = Time::from_millis(1);
  others[5].input = "{}";
  others[6].events = "[]";
  for (const Batch& other : others) EXPECT_NE(chained_hash("", other), original);
}

TEST(Batch, OfANewerFormatIsRefusedWithARemedy) {
  const Error error = parse_batch(changed("\"format\":1", "\"format\":2")).error();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_NE(error.message.find("format 2"), std::string::npos);
  EXPECT_FALSE(error.hint.empty());
}

TEST(Batch, ThatIsNotCanonicalIsDamaged) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), changed("\"count\":2", "\"count\":3"),
        changed("\"count\":2,", ""), changed(",\"seq\":7", ",\"seq\":7,\"zzz\":1"),
        changed("{\"type\"", "{ \"type\""), changed("\"seq\":7", "\"seq\":\"7\""),
        changed("\"input\":{\"type\":\"tick\"}", "\"input\":[]"),
        changed("\"format\":1", "\"format\":0"), changed("{\"a\":1}", "{\"a\":1.0}") + " "}) {
    const Result<Batch> batch = parse_batch(text);
    ASSERT_FALSE(batch.ok()) << text;
    EXPECT_EQ(batch.error().code, Errc::kCorrupt) << text;
  }
}

TEST(Batch, SurvivesFlippedBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    std::string text(kSampleText);
    text[random() % text.size()] = static_cast<char>(random());
    const Result<Batch> batch = parse_batch(text);
    if (batch.ok()) {
      ASSERT_EQ(canonical_text(*batch), text);
    }
  }
}

}  // namespace
}  // namespace runnel::store
