// One side reads what the other writes, whatever it holds and however the bytes are cut.

#include "http/detail/wire.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/detail/parser.h"

namespace runnel::http::detail {
namespace {

using Random = std::mt19937;

std::string random_text(Random& random, std::size_t length_max, bool any_byte) {
  std::string text(random() % (length_max + 1), '\0');
  for (char& c : text) {
    c = any_byte ? static_cast<char>(random()) : static_cast<char>('!' + random() % 90);
  }
  return text;
}

// Any byte but NUL, which no address may hold.
std::string random_word(Random& random) {
  std::string word = random_text(random, 12, true);
  std::erase(word, '\0');
  return word;
}

Request random_request(Random& random) {
  constexpr Method kMethods[] = {Method::kGet,   Method::kPost,   Method::kPut,
                                 Method::kPatch, Method::kDelete, Method::kOptions};
  Request request;
  request.method = kMethods[random() % std::size(kMethods)];
  for (std::uint32_t i = random() % 4; i > 0; --i) request.path += random_word(random) + "/";
  for (std::uint32_t i = random() % 4; i > 0; --i) {
    request.query.emplace_back("k" + random_word(random), random_word(random));
  }
  for (std::uint32_t i = random() % 4; i > 0; --i) {
    request.headers.add("X-" + std::to_string(i), "v" + random_text(random, 30, false));
  }
  if (random() % 2 == 0) request.body = random_text(random, 5000, true);
  return request;
}

// Feeds pieces of random sizes, as a connection would.
template <typename Parser>
void feed_randomly(Parser& parser, const std::string& bytes, Random& random) {
  std::string pending;
  std::size_t at = 0;
  while (!parser.done() && (at < bytes.size() || !pending.empty())) {
    std::size_t size = 1 + random() % 700;
    pending += bytes.substr(at, size);
    at = std::min(bytes.size(), at + size);
    std::size_t taken = MUST(parser.feed(pending));
    pending.erase(0, taken);
    if (taken == 0 && at == bytes.size()) break;
  }
  EXPECT_EQ(pending, "");
}

TEST(Wire, RandomRequestsSurvive) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Request request = random_request(random);
    RequestParser parser({});
    feed_randomly(parser, request_bytes(request, "localhost"), random);
    ASSERT_TRUE(parser.done());
    Request back = MUST(parser.take());
    EXPECT_EQ(back.method, request.method);
    EXPECT_EQ(back.path, request.path);
    EXPECT_EQ(back.query, request.query);
    EXPECT_EQ(back.body, request.body);
    for (const auto& [name, value] : request.headers.fields()) {
      EXPECT_EQ(back.headers.find(name), value);
    }
  }
}

TEST(Wire, RandomResponsesSurvive) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Headers headers;
    headers.add("X-Tag", "v" + random_text(random, 30, false));
    std::string body = random_text(random, 5000, true);
    bool chunked = random() % 2 == 0;
    std::string bytes;
    if (chunked) {
      bytes = stream_head(200, headers, Framing::kChunked, ConnectionUse::kKeepAlive);
      for (std::size_t at = 0; at < body.size();) {
        std::string piece = body.substr(at, 1 + random() % 999);
        bytes += chunk(piece);
        at += piece.size();
      }
      bytes += kLastChunk;
    } else {
      bytes = response_head(200, headers, body.size(), ConnectionUse::kKeepAlive) + body;
    }
    ResponseParser parser;
    parser.begin(Method::kGet);
    feed_randomly(parser, bytes, random);
    ASSERT_TRUE(parser.done());
    EXPECT_TRUE(parser.keep_alive());
    EXPECT_EQ(parser.headers().find("x-tag"), headers.find("X-Tag"));
    EXPECT_EQ(parser.take_body(), body);
  }
}

TEST(Wire, RandomBytesNeverBreakTheParsers) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Request request = random_request(random);
    std::string bytes = request_bytes(request, "localhost");
    // A valid request with a few bytes changed reaches deeper than noise would.
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    RequestParser parser({});
    Result<std::size_t> taken = parser.feed(bytes);
    if (!taken.ok()) {
      EXPECT_GE(parser.failure_status(), 400);
    } else if (parser.done()) {
      Result<Request> back = parser.take();
      EXPECT_EQ(back.ok(), parser.failure_status() == 0);
    }
  }
}

TEST(Wire, AHeaderCannotSmuggleAnother) {
  Headers headers;
  headers.add("X-Name", "a\r\nSet-Cookie: evil");
  std::string head = response_head(200, headers, 0, ConnectionUse::kClose);
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
  EXPECT_NE(head.find("Connection: close\r\n"), std::string::npos);
}

TEST(Wire, NoContentHasNoLength) {
  EXPECT_EQ(response_head(204, {}, 0, ConnectionUse::kKeepAlive).find("Content-Length"),
            std::string::npos);
}

TEST(Wire, AnEmptyChunkEndsTheProcess) {
  EXPECT_DEATH({ (void)chunk(""); }, "would end the body");
}

}  // namespace
}  // namespace runnel::http::detail
