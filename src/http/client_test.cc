#include "http/client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/socket.h"
#include "async/testing/loop_test.h"
#include "http/blocking_client.h"
#include "http/testing/served.h"

namespace runnel::http {
namespace {

using testing::Served;

Async<void> three_pieces(StreamWriter& writer) {
  for (const char* piece : {"one\n", "two\n", "three\n"}) {
    Result<void> written = co_await writer.write(piece);
    CO_TRY(std::move(written));
  }
  co_return {};
}

// Writes as fast as the client reads, until it leaves.
Async<void> endless_beats(StreamWriter& writer) {
  while (!writer.gone().stopped()) {
    Result<void> beat = co_await writer.write("beat\n");
    CO_TRY(std::move(beat));
  }
  co_return {};
}

Async<Reply> serve(Request request) {
  if (request.path == "/stream") co_return StreamResponse::of("text/plain", three_pieces);
  if (request.path == "/beats") co_return StreamResponse::of("text/plain", endless_beats);
  if (request.path == "/missing") co_return Error(Errc::kNotFound, "not here");
  if (request.path == "/big") co_return Response::text(std::string(3 << 20, 'b'));
  co_return Response::text(request.path + request.body);
}

// Accepts one connection, says what it is told to, and waits.
class Mute {
 public:
  explicit Mute(std::string speech = "")
      : listener_(MUST(async::listen_tcp("127.0.0.1", 0))), speech_(std::move(speech)) {
    port_ = MUST(async::local_port(listener_.get()));
    thread_ = std::thread([this] { accept_all(); });
  }
  ~Mute() {
    ending_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  Endpoint endpoint() const { return Endpoint::tcp("127.0.0.1", port_); }

 private:
  void accept_all() {
    std::vector<async::UniqueFd> peers;
    while (!ending_) {
      async::UniqueFd peer(::accept(listener_.get(), nullptr, nullptr));
      if (peer.valid()) {
        (void)::send(peer.get(), speech_.data(), speech_.size(), MSG_NOSIGNAL);
        peers.push_back(std::move(peer));
      } else {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
  }
  async::UniqueFd listener_;
  std::string speech_;
  std::uint16_t port_ = 0;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

Endpoint nobody() { return Endpoint::unix_socket("/nonexistent/runnel.sock"); }

// --- The blocking client -------------------------------------------------------------------------

TEST(BlockingClient, NobodyListeningIsUnavailable) {
  BlockingClient client(nobody());
  EXPECT_EQ(client.request(Request::get("/")).error().code, Errc::kUnavailable);
  std::uint16_t closed = 0;
  {
    async::UniqueFd listener = MUST(async::listen_tcp("127.0.0.1", 0));
    closed = MUST(async::local_port(listener.get()));
  }
  BlockingClient refused(Endpoint::tcp("127.0.0.1", closed));
  EXPECT_EQ(refused.request(Request::get("/")).error().code, Errc::kUnavailable);
}

TEST(BlockingClient, KeepsItsConnection) {
  Served served(serve);
  BlockingClient client(served.unix_endpoint());
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.request(Request::get("/x")).ok());
  EXPECT_EQ(served.connections(), 1);
}

TEST(BlockingClient, ConnectsAnewWhenTheServerHasClosedAKeptConnection) {
  Served served(serve, {.idle_max = Duration::millis(20)});
  BlockingClient client(served.unix_endpoint());
  for (int i = 0; i < 3; ++i) {
    Result<Response> response = client.request(Request::post("/x", "{}"));
    ASSERT_TRUE(response.ok()) << response.error().to_string();
    ASSERT_TRUE(served.reaches_connections(0));
  }
}

TEST(BlockingClient, ReadsAStreamPieceByPiece) {
  Served served(serve);
  BlockingClient client(served.unix_endpoint());
  {
    BlockingClient::BodyStream stream = MUST(client.stream(Request::get("/stream")));
    EXPECT_EQ(stream.status(), 200);
    EXPECT_EQ(stream.headers().find("content-type"), "text/plain");
    std::string all;
    while (std::optional<std::string> chunk = MUST(stream.next_chunk())) all += *chunk;
    EXPECT_EQ(all, "one\ntwo\nthree\n");
    EXPECT_EQ(MUST(stream.next_chunk()), std::nullopt);
  }
  EXPECT_EQ(MUST(client.request(Request::get("/x"))).body, "/x");
  EXPECT_EQ(served.connections(), 1) << "a stream read to its end keeps the connection";
}

TEST(BlockingClient, AStreamLeftEarlyDoesNotSpoilTheNextRequest) {
  Served served(serve);
  BlockingClient client(served.unix_endpoint());
  {
    BlockingClient::BodyStream stream = MUST(client.stream(Request::get("/beats")));
    EXPECT_TRUE(MUST(stream.next_chunk()).has_value());
  }
  EXPECT_EQ(MUST(client.request(Request::get("/x"))).body, "/x");
}

TEST(BlockingClient, GivesUpAfterSilence) {
  Mute mute;
  BlockingClient client(mute.endpoint(), {.silence_max = Duration::millis(30)});
  Result<Response> response = client.request(Request::get("/"));
  EXPECT_EQ(response.error().code, Errc::kTimeout);
}

TEST(BlockingClient, TellsOnceThatAWaitIsLongAndWaitsOn) {
  Mute mute;
  int told = 0;
  const auto quiet_client = [&](Duration silence_max) {
    return BlockingClient(mute.endpoint(), {.silence_max = silence_max,
                                            .quiet_max = Duration::millis(20),
                                            .on_quiet = [&told] { ++told; }});
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(quiet_client(Duration::millis(90)).request(Request::get("/")).error().code,
              Errc::kTimeout);
    EXPECT_EQ(told, i + 1);
  }
  EXPECT_FALSE(quiet_client(Duration::millis(10)).request(Request::get("/")).ok());
  EXPECT_EQ(told, 2) << "it gives up before it would be long";
}

TEST(BlockingClient, ASilentStreamMayBeAskedAgain) {
  Mute mute("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  BlockingClient client(mute.endpoint(), {.silence_max = Duration()});
  BlockingClient::BodyStream stream = MUST(client.stream(Request::get("/")));
  EXPECT_EQ(MUST(stream.next_chunk_for(Duration::millis(10))), "");
  EXPECT_EQ(MUST(stream.next_chunk_for(Duration::millis(10))), "");
}

TEST(BlockingClient, CancelEndsAWaitFromAnotherThread) {
  Mute mute;
  BlockingClient client(mute.endpoint(), {.silence_max = Duration()});
  std::thread canceller([&client] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client.cancel();
  });
  EXPECT_EQ(client.request(Request::get("/")).error().code, Errc::kCancelled);
  canceller.join();
}

TEST(BlockingClient, APeerThatSpeaksAnotherProtocolIsInvalid) {
  Mute mute("SSH-2.0-OpenSSH_9.2\r\n\r\n");
  BlockingClient client(mute.endpoint());
  EXPECT_EQ(client.request(Request::get("/")).error().code, Errc::kInvalid);
}

TEST(BlockingClient, ABodyOverItsLimitIsFull) {
  Served served(serve);
  BlockingClient client(served.unix_endpoint(), {.body_max = Bytes::mebi(1)});
  EXPECT_EQ(client.request(Request::get("/big")).error().code, Errc::kFull);
  EXPECT_EQ(MUST(client.request(Request::get("/x"))).body, "/x");
}

// --- The client on a loop ------------------------------------------------------------------------

class ClientTest : public async::testing::LoopTest {
 protected:
  Served served_{serve, {.idle_max = Duration::seconds(5)}};
};

TEST_F(ClientTest, AsksOverUnixAndTcpAndKeepsItsConnection) {
  for (const Endpoint& endpoint : {served_.unix_endpoint(), served_.tcp_endpoint()}) {
    Client client(loop(), endpoint);
    EXPECT_EQ(MUST(wait(client.request(Request::post("/x", "{}")))).body, "/x{}");
    Response missing = MUST(wait(client.request(Request::get("/missing"))));
    EXPECT_EQ(error_of(missing), Error(Errc::kNotFound, "not here"));
    EXPECT_EQ(MUST(wait(client.request(Request::get("/big")))).body.size(), std::size_t{3} << 20);
    EXPECT_EQ(served_.connections(), 1);
  }
}

TEST_F(ClientTest, StreamsThroughACallback) {
  Client client(loop(), served_.unix_endpoint());
  std::string all;
  Response head = MUST(wait(client.stream(Request::get("/stream"), [&](std::string_view piece) {
    all += piece;
    return Result<void>();
  })));
  EXPECT_EQ(all, "one\ntwo\nthree\n");
  EXPECT_EQ(head.body, "");
  Response missing = MUST(wait(client.stream(Request::get("/missing"), [](std::string_view) {
    return Result<void>(Error(Errc::kInternal, "a failure's body is no stream"));
  })));
  EXPECT_EQ(error_of(missing).code, Errc::kNotFound);
}

TEST_F(ClientTest, AnErrorOfTheCallbackEndsTheStream) {
  Client client(loop(), served_.unix_endpoint());
  Result<Response> ended = wait(client.stream(Request::get("/beats"), [](std::string_view) {
    return Result<void>(Error(Errc::kConflict, "enough"));
  }));
  EXPECT_EQ(ended.error().message, "enough");
  EXPECT_EQ(MUST(wait(client.request(Request::get("/x")))).body, "/x");
}

TEST_F(ClientTest, StopEndsAStreamAndARequest) {
  Client client(loop(), served_.tcp_endpoint());
  async::StopSource source;
  async::Timer timer(loop());
  timer.start(Duration::millis(20), [&] { source.stop(); });
  auto ignore = [](std::string_view) { return Result<void>(); };
  EXPECT_EQ(wait(client.stream(Request::get("/beats"), ignore, source.token())).error().code,
            Errc::kCancelled);
  EXPECT_EQ(wait(client.request(Request::get("/"), source.token())).error().code, Errc::kCancelled);
  EXPECT_TRUE(wait(client.request(Request::get("/"))).ok());
}

TEST_F(ClientTest, ReconnectsWhenTheServerHasClosedAKeptConnection) {
  Served impatient(serve, {.idle_max = Duration::millis(20)});
  Client client(loop(), impatient.unix_endpoint());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(wait(client.request(Request::get("/x"))).ok());
    ASSERT_TRUE(impatient.reaches_connections(0));
  }
}

TEST_F(ClientTest, TimesOutAndTellsWhenNobodyListens) {
  Mute mute;
  Client silent(loop(), mute.endpoint(), {.silence_max = Duration::millis(20)});
  EXPECT_EQ(wait(silent.request(Request::get("/"))).error().code, Errc::kTimeout);
  Client alone(loop(), nobody());
  EXPECT_EQ(wait(alone.request(Request::get("/"))).error().code, Errc::kUnavailable);
}

Async<void> ask_and_keep(Client& client, std::optional<Errc>& outcome) {
  Result<Response> response = co_await client.request(Request::get("/x"));
  if (!response.ok()) outcome = response.error().code;
  co_return {};
}

TEST_F(ClientTest, ASecondRequestAtOnceIsAConflict) {
  Client client(loop(), served_.unix_endpoint());
  async::Gate gate(loop());
  std::optional<Errc> first;
  std::optional<Errc> second;
  MUST(loop().spawn(gate, ask_and_keep(client, first)));
  MUST(loop().spawn(gate, ask_and_keep(client, second)));
  MUST(wait(gate.close()));
  EXPECT_EQ(first, std::nullopt);
  EXPECT_EQ(second, Errc::kConflict);
}

}  // namespace
}  // namespace runnel::http
