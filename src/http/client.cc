#include "http/client.h"

#include <optional>
#include <utility>

#include "async/socket.h"
#include "async/stream.h"
#include "async/together.h"
#include "async/unique_fd.h"
#include "base/check.h"
#include "http/detail/input_buffer.h"
#include "http/detail/parser.h"
#include "http/detail/wire.h"

namespace runnel::http {

namespace {

using OnChunk = std::function<Result<void>(std::string_view)>;

Async<void> wait_connected(async::EventLoop& loop, int descriptor, async::StopToken stop) {
  CO_TRY(co_await loop.writable(descriptor, std::move(stop)));
  co_return async::connect_result(descriptor);
}

}  // namespace

struct Client::Impl {
  Impl(async::EventLoop& owner, Endpoint server, ClientOptions chosen)
      : loop(owner), endpoint(std::move(server)), options(std::move(chosen)), silence(owner) {}

  Async<Response> run(Request request, OnChunk on_chunk, async::StopToken stop);
  Async<Response> exchange(Request request, OnChunk on_chunk, async::StopToken stop);
  Async<void> connect(async::StopToken stop);
  Async<void> attempt(const Request& request);
  Async<void> fill();
  Async<Response> read_body(OnChunk on_chunk);
  void listen_for_silence();
  Error explain(Error error, const async::StopToken& stop) const;

  async::EventLoop& loop;
  Endpoint endpoint;
  ClientOptions options;
  std::unique_ptr<async::Stream> stream;  // Null: not connected.
  detail::ResponseParser parser;
  detail::InputBuffer input{detail::kResponseInputMax};
  async::Timer silence;
  bool busy = false;
  bool timed_out = false;
};

// The stream tells only that it ended; here is known why.
Error Client::Impl::explain(Error error, const async::StopToken& stop) const {
  if (stop.stopped()) return async::cancelled_error();
  if (!timed_out) return error;
  return Error(Errc::kTimeout,
               endpoint.to_string() + " was silent for " + to_string(options.silence_max));
}

void Client::Impl::listen_for_silence() {
  if (options.silence_max.is_zero()) return;
  silence.start(options.silence_max, [this] {
    timed_out = true;
    stream->interrupt();
  });
}

Async<void> Client::Impl::connect(async::StopToken stop) {
  input.clear();
  stream.reset();
  if (endpoint.is_unix()) {
    async::UniqueFd socket = CO_TRY(async::connect_unix(endpoint.unix_path));
    stream = std::make_unique<async::Stream>(loop, std::move(socket));
    co_return {};
  }
  async::UniqueFd socket = CO_TRY(async::connect_tcp(endpoint.host, endpoint.port));
  int descriptor = socket.get();
  async::Stoppable<void> waiting = [this, descriptor](async::StopToken token) {
    return wait_connected(loop, descriptor, std::move(token));
  };
  Result<void> connected =
      co_await async::with_timeout<void>(loop, options.connect_max, std::move(waiting), stop);
  if (!connected.ok() && connected.error().code != Errc::kCancelled) {
    co_return Error(Errc::kUnavailable, "nobody answers at " + endpoint.to_string() + " (" +
                                            connected.error().message + ")");
  }
  CO_TRY(std::move(connected));
  stream = std::make_unique<async::Stream>(loop, std::move(socket));
  co_return {};
}

Async<void> Client::Impl::fill() {
  if (!input.data().empty()) {
    std::size_t taken = CO_TRY(parser.feed(input.data()));
    input.consume(taken);
    if (taken > 0) co_return {};
  }
  if (input.full()) co_return Error(Errc::kInvalid, "a line of the response is too long");
  listen_for_silence();
  Result<std::size_t> read = co_await stream->read_some(input.room());
  silence.cancel();
  std::size_t count = CO_TRY(std::move(read));
  if (count == 0) co_return parser.eof();
  input.commit(count);
  co_return {};
}

// Sends the request and reads the head of its response.
Async<void> Client::Impl::attempt(const Request& request) {
  parser.begin(request.method);
  std::string bytes =
      detail::request_bytes(request, endpoint.is_unix() ? "localhost" : endpoint.host);
  listen_for_silence();
  // A server may answer before it has read everything ("too large"): its answer counts.
  Result<void> sent = co_await stream->write_all(bytes);
  silence.cancel();
  while (!parser.head_done()) {
    Result<void> filled = co_await fill();
    if (!filled.ok()) co_return sent.ok() ? filled : sent;
  }
  co_return {};
}

Async<Response> Client::Impl::exchange(Request request, OnChunk on_chunk, async::StopToken stop) {
  bool kept = stream != nullptr;
  if (!kept) {
    CO_TRY(co_await connect(stop));
  }
  async::StopCallback on_stop(stop, [this] {
    if (stream != nullptr) stream->interrupt();
  });
  Result<void> answered = co_await attempt(request);
  bool closed_meanwhile = !answered.ok() && kept && !parser.started() && !timed_out;
  if (closed_meanwhile && detail::may_repeat(request.method) && !stop.stopped()) {
    CO_TRY(co_await connect(stop));
    answered = co_await attempt(request);
  }
  CO_TRY(std::move(answered));
  Result<Response> response = co_await read_body(std::move(on_chunk));
  co_return response;
}

Async<Response> Client::Impl::read_body(OnChunk on_chunk) {
  Response response;
  response.status = parser.status();
  response.headers = parser.headers();
  bool streamed = on_chunk != nullptr && response.success();
  while (true) {
    std::string piece = parser.take_body();
    if (streamed && !piece.empty()) {
      CO_TRY(on_chunk(piece));
    } else {
      response.body += piece;
    }
    if (response.body.size() > static_cast<std::size_t>(options.body_max.count())) {
      co_return Error(Errc::kFull, "the response is larger than " + to_string(options.body_max));
    }
    if (parser.done()) co_return response;
    CO_TRY(co_await fill());
  }
}

Async<Response> Client::Impl::run(Request request, OnChunk on_chunk, async::StopToken stop) {
  if (busy) co_return Error(Errc::kConflict, "the client is busy with another request");
  CO_TRY(stop.check());
  busy = true;
  timed_out = false;
  Result<Response> response = co_await exchange(std::move(request), std::move(on_chunk), stop);
  busy = false;
  bool clean = response.ok() && parser.keep_alive() && input.data().empty() && !stop.stopped();
  if (!clean) stream.reset();
  if (!response.ok()) co_return explain(std::move(response).error(), stop);
  co_return response;
}

Client::Client(async::EventLoop& loop, Endpoint endpoint, ClientOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(endpoint), std::move(options))) {}

Client::~Client() { CHECK(!impl_->busy, "a client was destroyed during a request"); }

Async<Response> Client::request(Request request, async::StopToken stop) {
  return impl_->run(std::move(request), nullptr, std::move(stop));
}

Async<Response> Client::stream(Request request,
                               std::function<Result<void>(std::string_view)> on_chunk,
                               async::StopToken stop) {
  CHECK(on_chunk != nullptr, "a stream needs a receiver");
  return impl_->run(std::move(request), std::move(on_chunk), std::move(stop));
}

}  // namespace runnel::http
