#include "http/blocking_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "async/socket.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "base/check.h"
#include "http/detail/input_buffer.h"
#include "http/detail/parser.h"
#include "http/detail/wire.h"

namespace runnel::http {

namespace {

int poll_timeout(Duration patience) {
  if (patience.is_zero()) return -1;
  return static_cast<int>(std::min<std::int64_t>(patience.millis(), 1'000'000'000));
}

}  // namespace

struct BlockingClient::Impl {
  Impl(Endpoint server, ClientOptions chosen)
      : endpoint(std::move(server)),
        options(std::move(chosen)),
        cancel_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  // Zero waits for ever.
  Result<void> wait(short events, Duration patience);
  Result<void> wait_quietly(short events, Duration patience);
  Result<void> connect();
  bool peer_closed() const;
  Result<void> send_all(std::string_view bytes);
  Result<std::size_t> receive(Duration patience);
  // Gives the parser more bytes, or tells it that none will come.
  Result<void> fill(Duration patience);
  // Sends the request and reads the head of its response.
  Result<void> exchange(const Request& request);
  Result<void> attempt(const Request& request);
  Result<std::optional<std::string>> next_piece(Duration patience);
  // Keeps the connection for the next request if it is clean.
  void finish();
  void drop() {
    socket.reset();
    streaming = false;
  }

  Endpoint endpoint;
  ClientOptions options;
  async::UniqueFd cancel_event;
  async::UniqueFd socket;
  detail::ResponseParser parser;
  detail::InputBuffer input{detail::kResponseInputMax};
  bool streaming = false;
};

Result<void> BlockingClient::Impl::wait(short events, Duration patience) {
  const Duration quiet = options.quiet_max;
  const bool may_be_quiet = patience.is_zero() || patience > quiet;
  if (!options.on_quiet || !may_be_quiet) return wait_quietly(events, patience);
  Result<void> soon = wait_quietly(events, quiet);
  if (soon.ok() || soon.error().code != Errc::kTimeout) return soon;
  options.on_quiet();
  return wait_quietly(events, patience.is_zero() ? patience : patience - quiet);
}

Result<void> BlockingClient::Impl::wait_quietly(short events, Duration patience) {
  pollfd watched[2] = {{socket.get(), events, 0}, {cancel_event.get(), POLLIN, 0}};
  while (true) {
    int ready = ::poll(watched, 2, poll_timeout(patience));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return errno_error("cannot wait for " + endpoint.to_string(), errno);
    if (watched[1].revents != 0) return async::cancelled_error();
    if (ready > 0) return {};
    return Error(Errc::kTimeout, endpoint.to_string() + " was silent for " + to_string(patience));
  }
}

Result<void> BlockingClient::Impl::connect() {
  input.clear();
  if (endpoint.is_unix()) {
    socket = TRY(async::connect_unix(endpoint.unix_path));
    return {};
  }
  socket = TRY(async::connect_tcp(endpoint.host, endpoint.port));
  TRY(wait(POLLOUT, options.connect_max));
  Result<void> connected = async::connect_result(socket.get());
  if (connected.ok()) return {};
  return Error(Errc::kUnavailable, "nobody answers at " + endpoint.to_string() + " (" +
                                       connected.error().message + ")");
}

bool BlockingClient::Impl::peer_closed() const {
  char byte = 0;
  ssize_t count = ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return count >= 0 ||
         (errno != EAGAIN && errno != EWOULDBLOCK);  // Unasked bytes are no good sign.
}

Result<void> BlockingClient::Impl::send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return errno_error("cannot send to " + endpoint.to_string(), errno);
    }
    TRY(wait(POLLOUT, options.silence_max));
  }
  return {};
}

Result<std::size_t> BlockingClient::Impl::receive(Duration patience) {
  std::span<char> room = input.room();
  while (true) {
    TRY(wait(POLLIN, patience));
    ssize_t count = ::recv(socket.get(), room.data(), room.size(), 0);
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) continue;
    return errno_error("the connection to " + endpoint.to_string() + " broke", errno);
  }
}

Result<void> BlockingClient::Impl::fill(Duration patience) {
  if (!input.data().empty()) {
    std::size_t taken = TRY(parser.feed(input.data()));
    input.consume(taken);
    if (taken > 0) return {};
  }
  if (input.full()) return Error(Errc::kInvalid, "a line of the response is too long");
  std::size_t count = TRY(receive(patience));
  if (count == 0) return parser.eof();
  input.commit(count);
  return {};
}

Result<void> BlockingClient::Impl::attempt(const Request& request) {
  parser.begin(request.method);
  std::string_view host = endpoint.is_unix() ? "localhost" : std::string_view(endpoint.host);
  // A server may answer before it has read everything ("too large"): its answer counts.
  Result<void> sent = send_all(detail::request_bytes(request, host));
  if (!sent.ok() && sent.error().code != Errc::kUnavailable) return sent;
  while (!parser.head_done()) {
    Result<void> filled = fill(options.silence_max);
    if (!filled.ok()) return sent.ok() ? filled : sent;
  }
  return {};
}

Result<void> BlockingClient::Impl::exchange(const Request& request) {
  CHECK(!streaming, "a request while a response is being streamed");
  bool kept = socket.valid() && !peer_closed();
  if (!kept) TRY(connect());
  Result<void> answered = attempt(request);
  bool closed_meanwhile =
      !answered.ok() && answered.error().code == Errc::kUnavailable && kept && !parser.started();
  if (closed_meanwhile && detail::may_repeat(request.method)) {
    TRY(connect());
    answered = attempt(request);
  }
  if (!answered.ok()) drop();
  return answered;
}

Result<std::optional<std::string>> BlockingClient::Impl::next_piece(Duration patience) {
  while (true) {
    std::string piece = parser.take_body();
    if (!piece.empty()) return std::optional<std::string>(std::move(piece));
    if (parser.done()) return std::optional<std::string>();
    TRY(fill(patience));
  }
}

void BlockingClient::Impl::finish() {
  streaming = false;
  bool clean = parser.done() && parser.keep_alive() && input.data().empty();
  if (!clean) drop();
}

BlockingClient::BlockingClient(Endpoint endpoint, ClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(endpoint), std::move(options))) {}

BlockingClient::~BlockingClient() = default;
BlockingClient::BlockingClient(BlockingClient&&) noexcept = default;
BlockingClient& BlockingClient::operator=(BlockingClient&&) noexcept = default;

Result<Response> BlockingClient::request(const Request& request) {
  TRY(impl_->exchange(request));
  Response response;
  response.status = impl_->parser.status();
  response.headers = impl_->parser.headers();
  while (true) {
    Result<std::optional<std::string>> piece = impl_->next_piece(impl_->options.silence_max);
    if (!piece.ok()) {
      impl_->drop();
      return std::move(piece).error();
    }
    if (!piece->has_value()) break;
    response.body += **piece;
    if (response.body.size() > static_cast<std::size_t>(impl_->options.body_max.count())) {
      impl_->drop();
      return Error(Errc::kFull,
                   "the response is larger than " + to_string(impl_->options.body_max));
    }
  }
  impl_->finish();
  return response;
}

Result<BlockingClient::BodyStream> BlockingClient::stream(const Request& request) {
  TRY(impl_->exchange(request));
  impl_->streaming = true;
  return BodyStream(*impl_);
}

void BlockingClient::cancel() {
  std::uint64_t one = 1;
  // It can fail only when it was called 2^64 times before.
  [[maybe_unused]] ssize_t written = ::write(impl_->cancel_event.get(), &one, sizeof(one));
}

BlockingClient::BodyStream::BodyStream(Impl& client) : client_(&client) {}

BlockingClient::BodyStream::BodyStream(BodyStream&& other) noexcept
    : client_(std::exchange(other.client_, nullptr)) {}

BlockingClient::BodyStream::~BodyStream() {
  if (client_ != nullptr && client_->streaming) client_->finish();
}

int BlockingClient::BodyStream::status() const { return client_->parser.status(); }

const Headers& BlockingClient::BodyStream::headers() const { return client_->parser.headers(); }

Result<std::optional<std::string>> BlockingClient::BodyStream::next_chunk() {
  Result<std::optional<std::string>> piece = client_->next_piece(client_->options.silence_max);
  if (!piece.ok()) client_->drop();
  return piece;
}

Result<std::optional<std::string>> BlockingClient::BodyStream::next_chunk_for(Duration patience) {
  CHECK(!patience.is_zero(), "zero would wait for ever");
  Result<std::optional<std::string>> piece = client_->next_piece(patience);
  if (!piece.ok() && piece.error().code == Errc::kTimeout) {
    return std::optional<std::string>(std::in_place);
  }
  if (!piece.ok()) client_->drop();
  return piece;
}

}  // namespace runnel::http
