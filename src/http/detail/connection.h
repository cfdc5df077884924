#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/stream.h"
#include "async/unique_fd.h"
#include "base/units.h"
#include "http/detail/input_buffer.h"
#include "http/detail/parser.h"
#include "http/detail/wire.h"
#include "http/message.h"
#include "http/server.h"

namespace runnel::http::detail {

// Counts a server's ticks. Deadlines are ticks: a request costs no timer and no clock, and a
// process that was suspended does not find all its clients late.
struct TickClock {
  Duration length;
  std::int64_t now = 1;

  // At least `span` from now on.
  std::int64_t after(Duration span) const { return now + span.millis() / length.millis() + 2; }
};

// What the connections of a server share; outlives them.
struct ConnectionHost {
  async::EventLoop& loop;
  const Handler& handler;
  const ServerLimits& limits;
  const TickClock& clock;
  async::StopToken stopping;
};

// One client of a server, from its first request to its end.
//
// Contract: serve() returns when the connection is finished. tick() ends waits that are too long.
// Threads:  the loop's only.
// Lifetime: serve() has returned before destruction.
class Connection {
 public:
  Connection(const ConnectionHost& host, async::UniqueFd descriptor);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Async<void> serve();
  void tick();
  void finish_soon();  // After the request in hand, or now when there is none.
  void cut();          // Whatever it does.

 private:
  enum class Phase : std::uint8_t { kIdle, kReading, kHandling, kWriting };
  // The part of the request that decides the shape of its answer.
  struct Exchange {
    bool head_only = false;
    bool http_1_0 = false;
    bool keep_alive = false;
  };
  class Writer;

  // Nullopt ends the connection; a refusal may be left to be sent.
  Async<std::optional<Request>> read_request();
  Async<void> say_continue();
  std::optional<Result<Request>> parse();
  void on_input_end();
  void reject(const Error& error, int status);
  Async<void> send_refusal();
  Async<void> answer(Request request);
  Async<void> answer_plain(const Response& response);
  Async<void> answer_stream(const StreamResponse& response);
  Async<void> send(std::string_view bytes);
  ConnectionUse use() const;
  void expect_within(Duration span) { deadline_ = host_.clock.after(span); }

  const ConnectionHost& host_;
  async::Stream stream_;
  RequestParser parser_;
  InputBuffer input_;
  std::optional<std::uint32_t> peer_uid_;
  Exchange exchange_;
  std::optional<Response> refusal_;
  Phase phase_ = Phase::kIdle;
  std::int64_t deadline_ = 0;  // A tick; 0 is none.
  bool timed_out_ = false;
  bool said_continue_ = false;
};

}  // namespace runnel::http::detail
