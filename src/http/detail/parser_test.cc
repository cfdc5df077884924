#include "http/detail/parser.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "http/detail/wire.h"

namespace runnel::http::detail {
namespace {

// Feeds `bytes` in pieces as a connection would: what was not taken is offered again.
template <typename Parser>
Result<std::string> feed_all(Parser& parser, const std::string& bytes, std::size_t size) {
  std::string pending;
  for (std::size_t at = 0; at < bytes.size(); at += size) {
    pending += bytes.substr(at, size);
    while (!pending.empty() && !parser.done()) {
      std::size_t taken = TRY(parser.feed(pending));
      pending.erase(0, taken);
      if (taken == 0) break;
    }
  }
  return pending;
}

const std::string kPost =
    "POST /jobs?x=1 HTTP/1.1\r\nHost: h\r\nX-Tag:  spaced  \r\nContent-Length: 5\r\n\r\nhello";

TEST(RequestParser, ReadsARequestInAnyPieces) {
  for (std::size_t size = 1; size <= kPost.size(); ++size) {
    RequestParser parser({});
    EXPECT_FALSE(parser.started());
    EXPECT_EQ(feed_all(parser, kPost, size).value(), "");
    ASSERT_TRUE(parser.done()) << size;
    EXPECT_TRUE(parser.keep_alive());
    Request request = MUST(parser.take());
    EXPECT_EQ(request.method, Method::kPost);
    EXPECT_EQ(request.path, "/jobs");
    EXPECT_EQ(request.query_value("x"), "1");
    EXPECT_EQ(request.headers.find("x-tag"), "spaced");
    EXPECT_EQ(request.body, "hello");
    EXPECT_FALSE(parser.started());
  }
}

TEST(RequestParser, SkipsEmptyLinesBeforeARequestHoweverCut) {
  const std::string bytes = "\r\n\r\n" + kPost;
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    RequestParser parser({});
    EXPECT_EQ(feed_all(parser, bytes, size).value(), "") << size;
    EXPECT_EQ(MUST(parser.take()).body, "hello") << size;
  }
}

TEST(RequestParser, LeavesTheNextRequestAlone) {
  RequestParser parser({});
  std::string two = kPost + "\r\n" + kPost;
  std::size_t taken = MUST(parser.feed(two));
  EXPECT_EQ(taken, kPost.size());
  EXPECT_EQ(MUST(parser.take()).body, "hello");
  EXPECT_EQ(feed_all(parser, two.substr(taken), 7).value(), "");
  EXPECT_EQ(MUST(parser.take()).body, "hello");
}

TEST(RequestParser, ReadsChunkedBodies) {
  std::string bytes =
      "PUT /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5;ext=1\r\nhello\r\n6\r\n world\r\n0\r\nTrailer: t\r\n\r\n";
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    RequestParser parser({});
    ASSERT_EQ(feed_all(parser, bytes, size).value(), "") << size;
    ASSERT_TRUE(parser.done()) << size;
    EXPECT_EQ(MUST(parser.take()).body, "hello world");
  }
}

int failure_of(const std::string& bytes, ParserLimits limits = {}) {
  RequestParser parser(limits);
  Result<std::string> fed = feed_all(parser, bytes, 1000);
  if (fed.ok() && parser.done()) (void)parser.take();
  return parser.failure_status();
}

TEST(RequestParser, RefusesWhatIsWrongWithTheRightStatus) {
  EXPECT_EQ(failure_of(kPost), 0);
  EXPECT_EQ(failure_of("GET\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("\x16\x03\x01\x02 TLS to a plain port\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\r\nHost : h\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(failure_of("GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("GET http://h/x HTTP/1.1\r\nHost: h\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("BREW / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(failure_of("TRACE / HTTP/1.1\r\nHost: h\r\n\r\n"), 501);
  EXPECT_EQ(failure_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n"), 505);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\nHost: h\n\n"), 400);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\n\n"), 400);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n"), 400);
  EXPECT_EQ(failure_of("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n"), 400);
}

TEST(RequestParser, RefusesTwoFramingsOfOneBody) {
  EXPECT_EQ(
      failure_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n"),
      400);
  EXPECT_EQ(failure_of("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
}

TEST(RequestParser, KeepsItsLimits) {
  ParserLimits limits{.header_max = Bytes::count(200), .body_max = Bytes::count(10)};
  std::string head = "POST / HTTP/1.1\r\nHost: h\r\n";
  EXPECT_EQ(failure_of(head + "Content-Length: 10\r\n\r\n0123456789", limits), 0);
  EXPECT_EQ(failure_of(head + "Content-Length: 11\r\n\r\n", limits), 413);
  EXPECT_EQ(
      failure_of(head + "Transfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n", limits),
      413);
  EXPECT_EQ(failure_of(head + "X: " + std::string(300, 'x') + "\r\n\r\n", limits), 431);
}

TEST(RequestParser, TellsTheWishesOfTheClient) {
  auto parse_head = [](RequestParser& parser, const std::string& bytes) {
    MUST(feed_all(parser, bytes, 10));
    CHECK(parser.head_done(), "the test's head is complete");
  };
  RequestParser close({});
  parse_head(close, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(close.keep_alive());
  RequestParser old({});
  parse_head(old, "GET / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.is_http_1_0());
  EXPECT_FALSE(old.keep_alive());
  EXPECT_TRUE(old.take().ok()) << "HTTP/1.0 needs no Host";
  RequestParser waiting({});
  parse_head(waiting,
             "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_TRUE(waiting.expects_continue());
  EXPECT_FALSE(waiting.done());
}

TEST(ResponseParser, ReadsLengthChunksAndBodiesUntilTheEnd) {
  ResponseParser parser;
  parser.begin(Method::kGet);
  MUST(feed_all(parser, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 3));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.take_body(), "ok");
  EXPECT_TRUE(parser.keep_alive());

  parser.begin(Method::kGet);
  MUST(feed_all(parser,
                "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("abc") +
                    std::string(kLastChunk),
                1));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.status(), 404);
  EXPECT_EQ(parser.take_body(), "abc");

  parser.begin(Method::kGet);
  MUST(feed_all(parser, "HTTP/1.0 200 OK\r\n\r\nall of it", 4));
  EXPECT_FALSE(parser.done());
  EXPECT_TRUE(parser.eof().ok());
  EXPECT_EQ(parser.take_body(), "all of it");
  EXPECT_FALSE(parser.keep_alive());
}

TEST(ResponseParser, AnEndInTheMiddleIsUnavailable) {
  for (const char* cut : {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"}) {
    ResponseParser parser;
    parser.begin(Method::kGet);
    MUST(feed_all(parser, cut, 100));
    EXPECT_EQ(parser.eof().error().code, Errc::kUnavailable) << cut;
  }
}

TEST(ResponseParser, SkipsInterimResponsesAndTheBodyOfHead) {
  ResponseParser parser;
  parser.begin(Method::kHead);
  std::string rest = MUST(feed_all(
      parser, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", 5));
  EXPECT_TRUE(parser.done());
  EXPECT_EQ(parser.status(), 200);
  EXPECT_EQ(rest, "");
}

TEST(ResponseParser, RefusesOtherProtocols) {
  ResponseParser parser;
  parser.begin(Method::kGet);
  EXPECT_EQ(parser.feed("SSH-2.0-OpenSSH_9.2\r\n\r\n").error().code, Errc::kInvalid);
}

TEST(Wire, WhatIsWrittenIsReadBack) {
  Request request = Request::post("/jobs/a%2Fb?x=%26", "{\"a\":1}");
  RequestParser parser({});
  MUST(feed_all(parser, request_bytes(request, "localhost"), 11));
  ASSERT_TRUE(parser.done());
  Request back = MUST(parser.take());
  EXPECT_EQ(back.path, request.path);
  EXPECT_EQ(back.query, request.query);
  EXPECT_EQ(back.body, request.body);
  EXPECT_EQ(back.headers.find("host"), "localhost");
}

}  // namespace
}  // namespace runnel::http::detail
