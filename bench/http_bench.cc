// Requests per second over a Unix socket, against the floor of the same machine: bytes of the same
// length sent to and fro over a raw socket pair between two threads, without HTTP, loop or
// coroutine.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "async/event_loop.h"
#include "base/check.h"
#include "http/blocking_client.h"
#include "http/router.h"
#include "http/server.h"

namespace {

using namespace runnel;        // NOLINT: a bench is a leaf.
using namespace runnel::http;  // NOLINT

constexpr int kRounds = 20'000;
constexpr int kNewConnections = 4'000;
constexpr int kRepeats = 5;
constexpr std::size_t kMessageBytes = 100;  // About what a small request and its answer take.

using Seconds = std::chrono::duration<double>;

template <typename Body>
double best_rate(int rounds, Body body) {
  double best = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    body(rounds);
    best = std::max(best, rounds / Seconds(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

void exchange(int descriptor, char* buffer) {
  CHECK(::send(descriptor, buffer, kMessageBytes, 0) == kMessageBytes, "a short send");
  CHECK(::recv(descriptor, buffer, kMessageBytes, MSG_WAITALL) == kMessageBytes, "a short receive");
}

double floor_rate() {
  int ends[2];
  CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
  std::thread echo([&ends] {
    char buffer[kMessageBytes];
    while (::recv(ends[1], buffer, kMessageBytes, MSG_WAITALL) == kMessageBytes) {
      if (::send(ends[1], buffer, kMessageBytes, MSG_NOSIGNAL) < 0) return;
    }
  });
  char buffer[kMessageBytes] = {};
  double rate = best_rate(kRounds, [&](int rounds) {
    for (int i = 0; i < rounds; ++i) exchange(ends[0], buffer);
  });
  ::close(ends[0]);
  echo.join();
  ::close(ends[1]);
  return rate;
}

Async<Reply> health(Request) { co_return Response::text("ok"); }

void ask(BlockingClient& client, const Request& request) {
  Result<Response> response = client.request(request);
  CHECK(response.ok(), "the server of the bench answers");
}

void ask_many(const Endpoint& endpoint, int count) {
  BlockingClient client(endpoint);
  const Request request = Request::get("/healthz");
  for (int i = 0; i < count; ++i) ask(client, request);
}

void ask_from_threads(const Endpoint& endpoint, int threads, int count) {
  std::vector<std::thread> running;
  running.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&endpoint, threads, count] { ask_many(endpoint, count / threads); });
  }
  for (std::thread& thread : running) thread.join();
}

void print(const char* what, double rate, double floor) {
  std::printf("%-44s %9.0f /s %8.1f us  %4.2f of the floor\n", what, rate, 1e6 / rate,
              rate / floor);
}

}  // namespace

int main() {
  std::string path =
      (std::filesystem::temp_directory_path() / ("runnel-bench-" + std::to_string(::getpid())))
          .string();
  auto loop = MUST(async::EventLoop::create());
  Router router;
  router.get("/healthz", health);
  Server server(*loop, [&router](Request request) { return router.handle(std::move(request)); });
  MUST(server.listen_unix(path));
  std::thread serving([&loop] { loop->run(); });
  const Endpoint endpoint = Endpoint::unix_socket(path);

  double floor = floor_rate();
  print("floor: 100 bytes to and fro, socket pair", floor, floor);
  print("one client, kept connection",
        best_rate(kRounds, [&](int rounds) { ask_many(endpoint, rounds); }), floor);
  print("8 clients, kept connections",
        best_rate(kRounds, [&](int rounds) { ask_from_threads(endpoint, 8, rounds); }), floor);
  print("one client, a new connection each",
        best_rate(kNewConnections,
                  [&](int rounds) {
                    for (int i = 0; i < rounds; ++i) ask_many(endpoint, 1);
                  }),
        floor);

  loop->stop();
  serving.join();
  MUST(loop->block_on(server.stop(Duration::seconds(1))));
  return 0;
}
