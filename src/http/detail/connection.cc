#include "http/detail/connection.h"

#include <sys/socket.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "async/socket.h"
#include "async/together.h"
#include "base/check.h"

namespace runnel::http::detail {

namespace {

constexpr std::size_t kInputMargin = std::size_t{8} << 10;  // Beyond the longest header.
constexpr std::size_t kWritePiece = std::size_t{64} << 10;  // The unit in which progress is seen.
constexpr std::size_t kJoinedBodyMax = std::size_t{16} << 10;  // Sent in one piece with its head.
constexpr std::size_t kDrainMax = std::size_t{32} << 20;       // Bytes of a refused request's rest.
constexpr Duration kDrainTime = Duration::seconds(2);

// The two halves of a streamed reply: when the body has ended the watch does too.
Async<void> produce(const StreamResponse& response, StreamWriter& writer,
                    async::StopSource& ended) {
  Result<void> produced = co_await response.body(writer);
  ended.stop();
  co_return produced;
}

Async<void> watch_peer(async::Stream& stream, async::StopSource& gone, async::StopToken ended) {
  Result<void> left = co_await stream.hangup(std::move(ended));
  if (left.ok()) gone.stop();
  co_return {};
}

}  // namespace

// The socket side of one streamed reply; lives in the frame of answer_stream().
class Connection::Writer final : public StreamWriter {
 public:
  Writer(Connection& connection, async::StopSource& gone, Framing framing)
      : connection_(connection), gone_(gone), framing_(framing) {}

  Async<void> write(std::string bytes) override {
    if (bytes.empty()) co_return {};
    std::string framed = framing_ == Framing::kChunked ? chunk(bytes) : std::move(bytes);
    Result<void> sent = co_await connection_.send(framed);
    if (!sent.ok()) gone_.stop();
    co_return sent;
  }

  async::StopToken gone() const override { return gone_.token(); }

 private:
  Connection& connection_;
  async::StopSource& gone_;
  Framing framing_;
};

Connection::Connection(const ConnectionHost& host, async::UniqueFd descriptor)
    : host_(host),
      stream_(host.loop, std::move(descriptor)),
      parser_({.header_max = host.limits.header_max, .body_max = host.limits.body_max}),
      input_(static_cast<std::size_t>(host.limits.header_max.count()) + kInputMargin),
      peer_uid_(async::peer_user(stream_.descriptor())) {}

Connection::~Connection() = default;

void Connection::tick() {
  if (deadline_ == 0 || deadline_ > host_.clock.now) return;
  deadline_ = 0;
  timed_out_ = true;
  // A client that is slow to ask can still be told so.
  if (phase_ == Phase::kReading) {
    ::shutdown(stream_.descriptor(), SHUT_RD);
  } else {
    cut();
  }
}

void Connection::finish_soon() {
  if (phase_ == Phase::kIdle) cut();
}

void Connection::cut() { stream_.interrupt(); }

Async<void> Connection::serve() {
  bool open = true;
  while (open) {
    std::optional<Request> request = CO_TRY(co_await read_request());
    if (!request.has_value()) break;
    CO_TRY(co_await answer(*std::move(request)));
    open = exchange_.keep_alive;
  }
  if (refusal_.has_value()) co_return co_await send_refusal();
  co_return {};
}

Async<std::optional<Request>> Connection::read_request() {
  phase_ = Phase::kIdle;
  said_continue_ = false;
  expect_within(host_.limits.idle_max);
  while (true) {
    std::optional<Result<Request>> parsed = parse();
    if (refusal_.has_value()) co_return std::optional<Request>();
    if (parsed.has_value()) co_return std::optional<Request>(*std::move(*parsed));
    CO_TRY(co_await say_continue());
    if (phase_ == Phase::kIdle && host_.stopping.stopped()) co_return std::optional<Request>();
    std::size_t count = CO_TRY(co_await stream_.read_some(input_.room()));
    if (count == 0) {
      on_input_end();
      co_return std::optional<Request>();
    }
    input_.commit(count);
  }
}

// The request if it is complete. What is wrong with it becomes a refusal.
std::optional<Result<Request>> Connection::parse() {
  while (!input_.data().empty()) {
    if (std::exchange(phase_, Phase::kReading) == Phase::kIdle) {
      expect_within(host_.limits.request_max);
    }
    Result<std::size_t> taken = parser_.feed(input_.data());
    if (!taken.ok()) {
      reject(taken.error(), parser_.failure_status());
      return std::nullopt;
    }
    input_.consume(*taken);
    if (parser_.done()) {
      exchange_.keep_alive = parser_.keep_alive() && !host_.stopping.stopped();
      exchange_.http_1_0 = parser_.is_http_1_0();
      Result<Request> request = parser_.take();
      if (!request.ok()) {
        reject(request.error(), parser_.failure_status());
        return std::nullopt;
      }
      deadline_ = 0;
      phase_ = Phase::kHandling;
      exchange_.head_only = request->method == Method::kHead;
      return request;
    }
    if (*taken == 0) break;
  }
  if (input_.full()) reject(Error(Errc::kInvalid, "a line of the request is too long"), 431);
  return std::nullopt;
}

Async<void> Connection::say_continue() {
  bool wanted = !said_continue_ && parser_.head_done() && parser_.expects_continue();
  if (!wanted) co_return {};
  said_continue_ = true;
  Result<void> sent = co_await stream_.write_all("HTTP/1.1 100 Continue\r\n\r\n");
  co_return sent;
}

void Connection::on_input_end() {
  if (phase_ == Phase::kReading && timed_out_) {
    reject(Error(Errc::kTimeout,
                 "the request did not arrive within " + to_string(host_.limits.request_max)),
           408);
  }
}

void Connection::reject(const Error& error, int status) {
  CHECK(status >= 400, "a refusal has an error status");
  refusal_ = problem(error, status);
}

// Says why, and reads on for a while: a close with unread input could destroy the answer under way.
Async<void> Connection::send_refusal() {
  phase_ = Phase::kWriting;
  exchange_ = Exchange{};
  CO_TRY(co_await answer_plain(*refusal_));
  ::shutdown(stream_.descriptor(), SHUT_WR);
  expect_within(kDrainTime);
  std::size_t drained = 0;
  while (drained < kDrainMax) {
    input_.clear();
    std::size_t count = CO_TRY(co_await stream_.read_some(input_.room()));
    if (count == 0) break;
    drained += count;
  }
  co_return {};
}

Async<void> Connection::answer(Request request) {
  request.stop = host_.stopping;
  request.peer_uid = peer_uid_;
  Result<Reply> reply = co_await host_.handler(std::move(request));
  phase_ = Phase::kWriting;
  if (host_.stopping.stopped()) exchange_.keep_alive = false;
  if (!reply.ok()) {
    Response failure = problem(reply.error());
    co_return co_await answer_plain(failure);
  }
  if (const Response* plain = std::get_if<Response>(&*reply)) {
    co_return co_await answer_plain(*plain);
  }
  co_return co_await answer_stream(std::get<StreamResponse>(*reply));
}

ConnectionUse Connection::use() const {
  return exchange_.keep_alive ? ConnectionUse::kKeepAlive : ConnectionUse::kClose;
}

Async<void> Connection::answer_plain(const Response& response) {
  std::string bytes = response_head(response.status, response.headers, response.body.size(), use());
  bool with_body = !exchange_.head_only && may_have_body(response.status);
  bool joined = response.body.size() <= kJoinedBodyMax;
  if (with_body && joined) bytes += response.body;
  CO_TRY(co_await send(bytes));
  if (!with_body || joined) co_return {};
  co_return co_await send(response.body);
}

Async<void> Connection::answer_stream(const StreamResponse& response) {
  CHECK(response.body != nullptr, "a streamed reply without a body function");
  Framing framing = exchange_.http_1_0 ? Framing::kUntilClose : Framing::kChunked;
  if (framing == Framing::kUntilClose) exchange_.keep_alive = false;
  std::string head = stream_head(response.status, response.headers, framing, use());
  CO_TRY(co_await send(head));
  if (exchange_.head_only) co_return {};

  async::StopSource gone(host_.stopping);
  async::StopSource ended;
  Writer writer(*this, gone, framing);
  std::vector<Async<void>> halves;
  halves.push_back(produce(response, writer, ended));
  halves.push_back(watch_peer(stream_, gone, ended.token()));
  CO_TRY(co_await async::when_all(host_.loop, std::move(halves)));
  if (framing == Framing::kUntilClose) co_return {};
  co_return co_await send(kLastChunk);
}

Async<void> Connection::send(std::string_view bytes) {
  while (!bytes.empty()) {
    std::string_view piece = bytes.substr(0, kWritePiece);
    expect_within(host_.limits.write_stall_max);
    Result<void> written = co_await stream_.write_all(piece);
    deadline_ = 0;
    if (timed_out_) co_return Error(Errc::kTimeout, "the client does not read its answer");
    CO_TRY(std::move(written));
    bytes.remove_prefix(piece.size());
  }
  co_return {};
}

}  // namespace runnel::http::detail
