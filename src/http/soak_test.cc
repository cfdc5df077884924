// Many clients of every kind at once: whatever they do, the good ones get their answers, and
// nothing is left behind.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "http/blocking_client.h"
#include "http/event_stream.h"
#include "http/router.h"
#include "http/testing/served.h"

namespace runnel::http {
namespace {

using testing::RawClient;
using testing::Served;
using Random = std::mt19937;

constexpr int kEvents = 500;

// Events with ids from `after` on, in pieces that do not respect their borders.
Async<void> send_events(StreamWriter& writer, int after) {
  std::string pending;
  for (int id = after + 1; id <= kEvents; ++id) {
    pending += encode_sse({std::to_string(id), "", "event number " + std::to_string(id)});
    if (id % 7 == 0) pending += sse_heartbeat();
    if (pending.size() < 300 && id != kEvents) continue;
    std::size_t cut = id == kEvents ? pending.size() : pending.size() - 11;
    Result<void> written = co_await writer.write(pending.substr(0, cut));
    CO_TRY(std::move(written));
    pending.erase(0, cut);
  }
  co_return {};
}

Async<void> send_without_end(StreamWriter& writer) {
  while (true) {
    Result<void> written = co_await writer.write(std::string(10'000, 'x'));
    CO_TRY(std::move(written));
  }
}

Async<Reply> events(Request request) {
  int after = std::stoi("0" + std::string(request.query_value("after").value_or("")));
  co_return StreamResponse::of(std::string(kEventStreamType), [after](StreamWriter& writer) {
    return send_events(writer, after);
  });
}

Async<Reply> endless(Request) { co_return StreamResponse::of("text/plain", send_without_end); }

Async<Reply> echo_body(Request request) { co_return Response::text(std::move(request.body)); }

Router make_router() {
  Router router;
  router.get("/events", events);
  router.get("/endless", endless);
  router.post("/echo", echo_body);
  return router;
}

class SoakTest : public ::testing::Test {
 protected:
  Endpoint endpoint(Random& random) const {
    return random() % 2 == 0 ? served_.unix_endpoint() : served_.tcp_endpoint();
  }

  const Router router_ = make_router();
  Served served_{[this](Request request) { return router_.handle(std::move(request)); },
                 {.body_max = Bytes::kibi(256),
                  .idle_max = Duration::millis(400),
                  .request_max = Duration::millis(400),
                  .write_stall_max = Duration::millis(400)}};
};

// Reads events, leaves at random, and resumes after the last id it saw.
std::vector<int> watch_with_breaks(const Endpoint& endpoint, Random& random) {
  std::vector<int> ids;
  while (ids.empty() || ids.back() != kEvents) {
    BlockingClient client(endpoint);
    std::string after = ids.empty() ? "" : std::to_string(ids.back());
    BlockingClient::BodyStream stream = MUST(client.stream(Request::get("/events?after=" + after)));
    SseSplitter splitter;
    std::uint32_t patience = 1 + random() % 20;
    for (std::uint32_t i = 0; i < patience; ++i) {
      std::optional<std::string> piece = MUST(stream.next_chunk());
      if (!piece.has_value()) break;
      MUST(splitter.feed(*piece));
      while (std::optional<SseEvent> event = splitter.next()) ids.push_back(std::stoi(event->id));
    }
  }
  return ids;
}

TEST_F(SoakTest, AWatchThatBreaksAndResumesSeesEachEventOnce) {
  std::vector<int> expected;
  for (int id = 1; id <= kEvents; ++id) expected.push_back(id);
  for (std::uint32_t seed = 0; seed < 10; ++seed) {
    Random random(seed);
    EXPECT_EQ(watch_with_breaks(endpoint(random), random), expected) << "seed " << seed;
  }
  EXPECT_TRUE(served_.reaches_connections(0));
}

// The bad clients.

void talk_nonsense(const Endpoint& endpoint, Random& random) {
  RawClient client(endpoint);
  std::string bytes(random() % 3000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  client.send(bytes + "\r\n\r\n");
  if (random() % 2 == 0) client.read_some();
}

void leave_in_the_middle(const Endpoint& endpoint, Random& random) {
  RawClient client(endpoint);
  std::string request =
      "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 5000\r\n\r\n" + std::string(4000, 'x');
  client.send(request.substr(0, 1 + random() % request.size()));
}

void ask_for_too_much(const Endpoint& endpoint, Random&) {
  BlockingClient client(endpoint);
  (void)client.request(Request::post("/echo", std::string(std::size_t{1} << 20, 'x')));
}

void leave_a_stream(const Endpoint& endpoint, Random& random) {
  RawClient client(endpoint);
  client.send("GET /endless HTTP/1.1\r\nHost: h\r\n\r\n");
  for (std::uint32_t i = random() % 5; i > 0; --i) client.read_some();
}

void say_nothing(const Endpoint& endpoint, Random& random) {
  RawClient client(endpoint);
  std::this_thread::sleep_for(std::chrono::milliseconds(random() % 30));
}

void behave_badly(const Endpoint& endpoint, Random& random) {
  using Bad = void (*)(const Endpoint&, Random&);
  constexpr Bad kKinds[] = {talk_nonsense, leave_in_the_middle, ask_for_too_much, leave_a_stream,
                            say_nothing};
  kKinds[random() % std::size(kKinds)](endpoint, random);
}

// How many of the answers were right.
int behave_well(const Endpoint& endpoint, Random& random, int count) {
  BlockingClient client(endpoint);
  int right = 0;
  for (int i = 0; i < count; ++i) {
    std::string body = "n" + std::to_string(random()) + std::string(random() % 20'000, 'y');
    Result<Response> response = client.request(Request::post("/echo", body));
    if (response.ok() && response->body == body) ++right;
  }
  return right;
}

TEST_F(SoakTest, GoodClientsAreServedAmongBadOnes) {
  constexpr int kGood = 8;
  constexpr int kBad = 12;
  constexpr int kRequests = 40;
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < kGood; ++i) {
    threads.emplace_back([this, &right, i] {
      Random random(i);
      right += behave_well(endpoint(random), random, kRequests);
    });
  }
  for (std::uint32_t i = 0; i < kBad; ++i) {
    threads.emplace_back([this, i] {
      Random random(1000 + i);
      for (int round = 0; round < 10; ++round) behave_badly(endpoint(random), random);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, kGood * kRequests);
  EXPECT_TRUE(served_.reaches_connections(0)) << served_.connections() << " are left";
}

TEST_F(SoakTest, StopInTheMiddleOfEverythingEndsEverything) {
  std::atomic<bool> ending{false};
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 6; ++i) {
    threads.emplace_back([this, &ending, i] {
      Random random(i);
      BlockingClient client(served_.unix_endpoint(), {.silence_max = Duration::seconds(5)});
      while (!ending) {
        std::string target = random() % 2 == 0 ? "/endless" : "/events";
        Result<BlockingClient::BodyStream> stream = client.stream(Request::get(target));
        if (!stream.ok()) break;
        for (int pieces = 0; pieces < 5; ++pieces) {
          if (!stream->next_chunk().ok()) break;
        }
      }
    });
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  auto start = std::chrono::steady_clock::now();
  served_.stop(Duration::millis(300));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  ending = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace runnel::http
