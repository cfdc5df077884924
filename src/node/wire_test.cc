#include "node/wire.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "node/testing/random_message.h"

namespace runnel::node {
namespace {

using testing::RandomMessage;

TEST(Wire, WhatWasWrittenReadsBackTheSame) {
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    RandomMessage random(seed);
    const Up sent = random.up();
    const std::string up = encode_text(sent);
    const Result<Up> message = decode_up(up);
    ASSERT_TRUE(message.ok()) << message.error().to_string() << "\n" << up;
    EXPECT_EQ(*message, sent);
    EXPECT_EQ(encode_text(*message), up);
    const model::NodeOrders ordered = random.orders();
    const std::string down = encode_text(ordered);
    const Result<model::NodeOrders> orders = decode_orders(down);
    ASSERT_TRUE(orders.ok()) << orders.error().to_string() << "\n" << down;
    EXPECT_EQ(*orders, ordered);
    EXPECT_EQ(encode_text(*orders), down);
  }
}

TEST(Wire, KeepsEachField) {
  Up message{NodeId("n"), {UpSequence(3), Incarnation("life"), Epoch(7), 5}, GoodBye()};
  std::get<GoodBye>(message.what).last.ranks.emplace_back().rank = 4;
  std::get<GoodBye>(message.what).last.ranks.back().attempt.task.job = JobId("j");
  const Up read = MUST(decode_up(encode_text(message)));
  EXPECT_EQ(read.node, message.node);
  EXPECT_EQ(read.stamp.up, UpSequence(3));
  EXPECT_EQ(read.stamp.incarnation, Incarnation("life"));
  EXPECT_EQ(read.stamp.epoch, Epoch(7));
  EXPECT_EQ(read.stamp.taken, 5);
  ASSERT_TRUE(std::holds_alternative<GoodBye>(read.what));
  EXPECT_EQ(news_of(read).ranks, news_of(message).ranks);
}

TEST(Wire, LeavesOutWhatIsNotThere) {
  model::NodeOrders orders;
  orders.node = NodeId("n");
  EXPECT_EQ(encode_text(orders), R"({"message":{"node":"n"},"version":1})");
  orders.stop.push_back({{{JobId("j"), {}, {}}, AttemptNumber(2)}, {}, model::StopReason::kHalted});
  EXPECT_EQ(encode_text(orders),
            R"({"message":{"node":"n","stop":[{"attempt":{"job":"j","number":2},)"
            R"("reason":"halted"}]},"version":1})");
}

// The messages of older builds must be read for as long as the version is the same: a node and its
// control are not upgraded in one moment. Add lines for new fields; never change these.
TEST(Wire, ReadsWhatWasWrittenBefore) {
  std::ifstream file(std::string(RUNNEL_SOURCE_DIR) + "/test/golden/node/messages-v1.jsonl");
  int ups = 0;
  int orders = 0;
  for (std::string line; std::getline(file, line);) {
    const Result<Up> up = decode_up(line);
    const Result<model::NodeOrders> down = decode_orders(line);
    ASSERT_NE(up.ok(), down.ok()) << line;
    EXPECT_EQ(up.ok() ? encode_text(*up) : encode_text(*down), line);
    ++(up.ok() ? ups : orders);
  }
  EXPECT_EQ(ups, 25);
  EXPECT_EQ(orders, 21);
}

// Every letter of a message in turn is another one: it is refused, or it is another message.
TEST(Wire, AFlippedLetterIsNeverTakenForTheSameMessage) {
  const std::string flips = "\"{}[],:0-9x";
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    RandomMessage random(seed);
    const Up sent = random.up();
    const std::string text = encode_text(sent);
    for (std::size_t at = 0; at < text.size(); ++at) {
      std::string flipped = text;
      flipped[at] = flips[at % flips.size()];
      const Result<Up> read = decode_up(flipped);
      if (!read.ok()) continue;
      EXPECT_EQ(*read == sent, encode_text(*read) == text) << flipped;
      EXPECT_EQ(MUST(decode_up(encode_text(*read))), *read) << flipped;
    }
  }
}

TEST(Wire, ACutMessageIsRefused) {
  RandomMessage random(5);
  const std::string text = encode_text(random.orders());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(decode_orders(text.substr(0, size)).ok()) << size;
  }
}

TEST(Wire, RefusesAnotherVersionByName) {
  const Error error = decode_up(R"({"message":{},"version":2})").error();
  EXPECT_EQ(error.code, Errc::kUnsupported);
  EXPECT_EQ(error.value, "2");
  EXPECT_EQ(decode_orders(R"({"message":{}})").error().field, "version");
}

TEST(Wire, RefusesWhatCannotBeNamingTheField) {
  const auto refused = [](std::string_view message) {
    return decode_up("{\"message\":" + std::string(message) + ",\"version\":1}").error();
  };
  EXPECT_EQ(refused(R"({"incarnation":"1","node":"n","report":{"news":{"ranks":[)"
                    R"({"attempt":{"job":"j"},"rank":-1}]}},"up":1})")
                .field,
            "message.report.news.ranks[0].rank");
  EXPECT_EQ(refused(R"({"incarnation":"1","node":"n","up":1})").code, Errc::kInvalid);
  EXPECT_EQ(refused(R"({"good_bye":{"last":{}},"incarnation":"1","node":"n",)"
                    R"("report":{"news":{}},"up":1})")
                .code,
            Errc::kInvalid)
      << "two in one";
  EXPECT_EQ(
      refused(R"({"incarnation":"1","node":"n","report":{"news":{}},"surprise":1,"up":1})").code,
      Errc::kInvalid);
}

}  // namespace
}  // namespace runnel::node
