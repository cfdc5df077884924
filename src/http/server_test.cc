#include "http/server.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/event.h"
#include "http/blocking_client.h"
#include "http/router.h"
#include "http/testing/served.h"

namespace runnel::http {
namespace {

using testing::RawClient;
using testing::Served;

Async<Reply> echo(Request request) {
  if (request.path == "/fail") co_return Error(Errc::kConflict, "planned").with_field("a.b");
  if (request.path == "/empty") co_return Response{.status = 204, .body = "forbidden here"};
  Response response = Response::text(request.body.empty() ? request.path : request.body);
  response.headers.add("X-Method", std::string(to_string(request.method)));
  co_return response;
}

const std::string kGet = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
const std::string kGetAndClose = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find('\r')); }

bool has_input(const RawClient& client, int wait_ms) {
  pollfd state{client.descriptor(), POLLIN, 0};
  return ::poll(&state, 1, wait_ms) == 1;
}

TEST(Server, AnswersOverUnixAndTcp) {
  Served served(echo);
  for (const Endpoint& endpoint : {served.unix_endpoint(), served.tcp_endpoint()}) {
    BlockingClient client(endpoint);
    Response response = MUST(client.request(Request::post("/x", "{\"a\":1}")));
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "{\"a\":1}");
    EXPECT_EQ(response.headers.find("x-method"), "POST");
  }
}

TEST(Server, AnErrorOfTheHandlerIsAProblem) {
  Served served(echo);
  BlockingClient client(served.unix_endpoint());
  Response response = MUST(client.request(Request::get("/fail")));
  EXPECT_EQ(response.status, 409);
  EXPECT_EQ(error_of(response), Error(Errc::kConflict, "planned").with_field("a.b"));
  EXPECT_EQ(MUST(client.request(Request::get("/empty"))).status, 204);
  EXPECT_EQ(MUST(client.request(Request::get("/again"))).body, "/again");
}

TEST(Server, HeadHasALengthAndNoBody) {
  Served served(echo);
  std::string answer = served.talk("HEAD /abc HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
  Served served(echo);
  std::string bytes;
  for (int i = 0; i < 500; ++i) {
    bytes += "GET /n" + std::to_string(i) + "; HTTP/1.1\r\nHost: h\r\n\r\n";
  }
  std::string answer = served.talk(bytes + kGetAndClose);
  std::size_t at = 0;
  for (int i = 0; i < 500; ++i) {
    at = answer.find("/n" + std::to_string(i) + ";", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_EQ(count_of(answer, "HTTP/1.1 200 OK"), 501);
}

TEST(Server, ServesManyConnectionsAtOnce) {
  Served served(echo);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([&served, &right, t] {
      BlockingClient client(t % 2 == 0 ? served.unix_endpoint() : served.tcp_endpoint());
      for (int i = 0; i < 20; ++i) {
        std::string path = "/t" + std::to_string(t) + "/" + std::to_string(i);
        Result<Response> response = client.request(Request::get(path));
        if (response.ok() && response->body == path) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 64 * 20);
  EXPECT_TRUE(served.reaches_connections(0));
}

TEST(Server, MoreThanTheMaximumWaitForRoom) {
  Served served(echo, {.connections_max = 2});
  auto first = std::make_unique<RawClient>(served.unix_endpoint());
  RawClient second(served.unix_endpoint());
  ASSERT_TRUE(served.reaches_connections(2));
  RawClient third(served.unix_endpoint());
  ASSERT_TRUE(third.send(kGetAndClose));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(served.connections(), 2);
  first.reset();
  EXPECT_EQ(status_line(third.read_to_end()), "HTTP/1.1 200 OK");
}

TEST(Server, AHalfClosedClientStillGetsItsAnswer) {
  Served served(echo);
  RawClient client(served.unix_endpoint());
  ASSERT_TRUE(client.send(kGet));
  client.end_output();
  EXPECT_EQ(status_line(client.read_to_end()), "HTTP/1.1 200 OK");
}

TEST(Server, BrokenRequestsGetAProblemAndAClose) {
  Served served(echo);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GARBAGE\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 400 Bad Request"},
      {"BREW / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 501 Not Implemented"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(50'000, 'x'),
       "HTTP/1.1 431 Request Header Fields Too Large"},
      {"GET /" + std::string(50'000, 'x'), "HTTP/1.1 431 Request Header Fields Too Large"},
  };
  for (const auto& [bytes, expected] : cases) {
    std::string answer = served.talk(bytes);
    EXPECT_EQ(status_line(answer), expected) << bytes.substr(0, 40);
    EXPECT_NE(answer.find("application/problem+json"), std::string::npos);
    EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  }
  EXPECT_EQ(status_line(served.talk(kGetAndClose)), "HTTP/1.1 200 OK");
}

TEST(Server, AnEndlessChunkLineIsRefused) {
  Served served(echo);
  RawClient client(served.unix_endpoint());
  std::string head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  client.send(head + "5;" + std::string(200'000, 'x'));
  std::string answer = status_line(client.read_to_end());
  EXPECT_TRUE(answer == "HTTP/1.1 400 Bad Request" ||
              answer == "HTTP/1.1 431 Request Header Fields Too Large")
      << answer;
}

TEST(Server, ABodyOverTheLimitIs413EvenWhileItIsStillSent) {
  Served served(echo, {.body_max = Bytes::mebi(1)});
  for (const Endpoint& endpoint : {served.unix_endpoint(), served.tcp_endpoint()}) {
    BlockingClient client(endpoint);
    Response fits = MUST(client.request(Request::post("/", std::string(1 << 20, 'x'))));
    EXPECT_EQ(fits.body.size(), std::size_t{1} << 20);
    Response response = MUST(client.request(Request::post("/", std::string(8 << 20, 'x'))));
    EXPECT_EQ(response.status, 413);
    EXPECT_NE(error_of(response).message.find("1MiB"), std::string::npos);
    EXPECT_EQ(MUST(client.request(Request::get("/after"))).body, "/after");
  }
}

TEST(Server, SaysContinueToWhoWaitsForIt) {
  Served served(echo);
  RawClient client(served.unix_endpoint());
  client.send("POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_TRUE(client.read_until("hi").ends_with("\r\n\r\nhi"));
}

TEST(Server, AnIdleConnectionIsClosedWithoutAWord) {
  Served served(echo, {.idle_max = Duration::millis(50)});
  RawClient client(served.unix_endpoint());
  ASSERT_TRUE(client.send(kGet));
  std::string answer = client.read_to_end();
  EXPECT_EQ(count_of(answer, "HTTP/1.1"), 1);
  EXPECT_TRUE(served.reaches_connections(0));
}

TEST(Server, ASlowRequestIsTold408) {
  Served served(echo, {.request_max = Duration::millis(60)});
  for (const Endpoint& endpoint : {served.unix_endpoint(), served.tcp_endpoint()}) {
    RawClient client(endpoint);
    // One byte at a time, each well within any time-out between bytes, and without an end.
    client.send("GET / HTTP/1.1\r\nX: ");
    for (int i = 0; i < 2000 && !has_input(client, 5); ++i) client.send("x");
    EXPECT_EQ(status_line(client.read_to_end()), "HTTP/1.1 408 Request Timeout");
  }
  EXPECT_TRUE(served.reaches_connections(0));
}

TEST(Server, TheSocketFileGoesWithTheServer) {
  Served served(echo);
  EXPECT_TRUE(std::filesystem::exists(served.path()));
  served.stop();
  EXPECT_FALSE(std::filesystem::exists(served.path()));
  BlockingClient client(served.unix_endpoint());
  EXPECT_EQ(client.request(Request::get("/")).error().code, Errc::kUnavailable);
}

TEST(Server, TellsWhenConnectionsChange) {
  auto loop = MUST(async::EventLoop::create());
  Server server(*loop, echo);
  std::vector<int> seen;
  server.on_connections_changed([&](int count) {
    seen.push_back(count);
    if (count == 0) loop->stop();
  });
  std::uint16_t port = MUST(server.listen_tcp("127.0.0.1", 0));
  std::thread client([port] {
    EXPECT_TRUE(BlockingClient(Endpoint::tcp("127.0.0.1", port)).request(Request::get("/")).ok());
  });
  loop->run();
  client.join();
  EXPECT_EQ(seen, (std::vector<int>{1, 0}));
  MUST(loop->block_on(server.stop(Duration::seconds(1))));
}

// --- Stopping ------------------------------------------------------------------------------------

TEST(ServerStop, ClosesIdleConnectionsAtOnce) {
  Served served(echo);
  RawClient client(served.unix_endpoint());
  client.send(kGet);
  client.read_until("/a");
  auto start = std::chrono::steady_clock::now();
  served.stop(Duration::seconds(30));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(client.read_to_end(), "");
}

// A handler that waits until the server stops, and then still answers.
Async<Reply> answer_at_stop(Request request, async::EventLoop& loop, std::atomic<int>& waiting) {
  ++waiting;
  Result<void> slept = co_await loop.sleep(Duration::hours(1), request.stop);
  co_return Response::text(slept.ok() ? "slept" : "stopped");
}

TEST(ServerStop, ARunningHandlerMayFinish) {
  auto loop = MUST(async::EventLoop::create());
  std::atomic<int> waiting{0};
  Server server(
      *loop, [&](Request request) { return answer_at_stop(std::move(request), *loop, waiting); });
  std::uint16_t port = MUST(server.listen_tcp("127.0.0.1", 0));
  std::thread running([&] { loop->run(); });
  std::string body;
  std::thread asking([&] {
    BlockingClient client(Endpoint::tcp("127.0.0.1", port));
    body = MUST(client.request(Request::get("/"))).body;
  });
  while (waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  loop->stop();
  running.join();
  MUST(loop->block_on(server.stop(Duration::seconds(10))));
  asking.join();
  EXPECT_EQ(body, "stopped");
}

// --- Streams -------------------------------------------------------------------------------------

struct StreamState {
  std::atomic<std::int64_t> written{0};
  std::atomic<bool> gone_seen{false};
  std::atomic<bool> ended{false};
  std::atomic<int> error{-1};
};

Async<void> count_to(StreamWriter& writer, int count) {
  for (int i = 0; i < count; ++i) {
    Result<void> written = co_await writer.write("line " + std::to_string(i) + "\n");
    CO_TRY(std::move(written));
  }
  co_return {};
}

Async<void> flood(StreamWriter& writer, std::shared_ptr<StreamState> state) {
  while (true) {
    Result<void> written = co_await writer.write(std::string(100'000, 'x'));
    if (!written.ok()) {
      state->error = static_cast<int>(written.error().code);
      state->ended = true;
      co_return written;
    }
    state->written += 100'000;
  }
}

Async<void> wait_for_gone(StreamWriter& writer, async::EventLoop& loop,
                          std::shared_ptr<StreamState> state) {
  Result<void> written = co_await writer.write("hello\n");
  CO_TRY(std::move(written));
  Result<void> slept = co_await loop.sleep(Duration::hours(1), writer.gone());
  state->gone_seen = !slept.ok();
  state->ended = true;
  co_return slept;
}

Async<void> fail_midway(StreamWriter& writer) {
  Result<void> written = co_await writer.write("half");
  CO_TRY(std::move(written));
  co_return Error(Errc::kIo, "the file broke");
}

Async<Reply> streaming(Request request, async::EventLoop& loop,
                       std::shared_ptr<StreamState> state) {
  if (request.path == "/count") {
    co_return StreamResponse::of("text/plain",
                                 [](StreamWriter& writer) { return count_to(writer, 1000); });
  }
  if (request.path == "/flood") {
    co_return StreamResponse::of("text/plain",
                                 [state](StreamWriter& writer) { return flood(writer, state); });
  }
  if (request.path == "/fail") co_return StreamResponse::of("text/plain", fail_midway);
  co_return StreamResponse::of("text/plain", [&loop, state](StreamWriter& writer) {
    return wait_for_gone(writer, loop, state);
  });
}

class StreamTest : public ::testing::Test {
 protected:
  // The loop that handlers sleep on is the server's own, known only after it was made.
  explicit StreamTest(ServerLimits limits = {.write_stall_max = Duration::millis(200)}) {
    auto handler = [this](Request request) {
      return streaming(std::move(request), *loop_, state_);
    };
    server_ = std::make_unique<Server>(*loop_, handler, limits);
    port_ = MUST(server_->listen_tcp("127.0.0.1", 0));
    path_ =
        std::filesystem::temp_directory_path() / ("runnel-stream-" + std::to_string(::getpid()));
    MUST(server_->listen_unix(path_));
    thread_ = std::thread([this] { loop_->run(); });
  }
  ~StreamTest() override {
    if (server_ != nullptr) stop();
  }
  void stop() {
    loop_->stop();
    thread_.join();
    MUST(loop_->block_on(server_->stop(Duration::millis(500))));
    server_.reset();
  }
  std::vector<Endpoint> both() const {
    return {Endpoint::unix_socket(path_), Endpoint::tcp("127.0.0.1", port_)};
  }
  bool ends_soon() const {
    for (int i = 0; i < 500 && !state_->ended; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return state_->ended;
  }
  static std::string ask(const std::string& path, const std::string& version = "1.1") {
    return "GET " + path + " HTTP/" + version + "\r\nHost: h\r\n\r\n";
  }

  std::shared_ptr<StreamState> state_ = std::make_shared<StreamState>();
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<Server> server_;
  std::string path_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

TEST_F(StreamTest, ArrivesWholeAndTheConnectionGoesOn) {
  for (const Endpoint& endpoint : both()) {
    BlockingClient client(endpoint);
    Response first = MUST(client.request(Request::get("/count")));
    EXPECT_EQ(count_of(first.body, "\n"), 1000);
    EXPECT_TRUE(first.body.ends_with("line 999\n"));
    EXPECT_EQ(first.headers.find("transfer-encoding"), "chunked");
    EXPECT_EQ(MUST(client.request(Request::get("/count"))).body, first.body);
  }
}

TEST_F(StreamTest, OldClientsGetItUnchunkedUntilTheClose) {
  RawClient client(both()[0]);
  client.send(ask("/count", "1.0"));
  std::string answer = client.read_to_end();
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("line 998\nline 999\n"));
}

TEST_F(StreamTest, AFailureInTheMiddleIsSeenAsACut) {
  BlockingClient client(both()[0]);
  EXPECT_EQ(client.request(Request::get("/fail")).error().code, Errc::kUnavailable);
}

TEST_F(StreamTest, TheWriterLearnsThatTheClientLeft) {
  for (const Endpoint& endpoint : both()) {
    state_->ended = state_->gone_seen = false;
    {
      RawClient client(endpoint);
      client.send(ask("/wait"));
      client.read_until("hello");
    }
    EXPECT_TRUE(ends_soon()) << endpoint.to_string();
    EXPECT_TRUE(state_->gone_seen);
  }
}

TEST_F(StreamTest, AHalfClosedUnixClientKeepsItsStream) {
  RawClient client(both()[0]);
  client.send(ask("/wait"));
  client.read_until("hello");
  client.end_output();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(state_->ended);
}

TEST_F(StreamTest, AClientThatStopsReadingHoldsTheWriterAndIsDropped) {
  for (const Endpoint& endpoint : both()) {
    state_->ended = false;
    state_->written = 0;
    RawClient client(endpoint);
    client.send(ask("/flood"));
    EXPECT_TRUE(ends_soon()) << endpoint.to_string();
    EXPECT_EQ(state_->error, static_cast<int>(Errc::kTimeout));
    EXPECT_LT(state_->written, 64 << 20) << "only what the kernel holds was taken";
  }
}

TEST_F(StreamTest, AClientThatLeavesMidFloodIsUnavailable) {
  {
    RawClient client(both()[0]);
    client.send(ask("/flood"));
    client.read_some();
  }
  EXPECT_TRUE(ends_soon());
  EXPECT_EQ(state_->error, static_cast<int>(Errc::kUnavailable));
}

TEST_F(StreamTest, StopEndsAWaitingStream) {
  RawClient client(both()[0]);
  client.send(ask("/wait"));
  client.read_until("hello");
  stop();
  EXPECT_TRUE(state_->gone_seen);
  EXPECT_EQ(client.read_to_end(), "") << "the body failed, so there is no last chunk";
}

TEST_F(StreamTest, StopCutsAStreamThatDoesNotListen) {
  RawClient client(both()[1]);
  client.send(ask("/flood"));
  client.read_some();
  auto start = std::chrono::steady_clock::now();
  stop();
  EXPECT_TRUE(state_->ended);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST_F(StreamTest, HeadOfAStreamHasNoBody) {
  RawClient client(both()[0]);
  client.send("HEAD /flood HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(client.read_to_end().ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace runnel::http
