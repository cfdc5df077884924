#include "async/stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>

#include "async/detail/asio_driver.h"
#include "base/check.h"

namespace runnel::async {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;
using Socket = asio::generic::stream_protocol::socket;

namespace {

// How often a TCP peer is looked at while it has input waiting for us, which hides its end.
constexpr Duration kPeerCheckInterval = Duration::seconds(1);

int socket_option(int descriptor, int option) {
  int value = 0;
  socklen_t length = sizeof(value);
  if (::getsockopt(descriptor, SOL_SOCKET, option, &value, &length) != 0) return 0;
  return value;
}

Error broken(const ErrorCode& error) {
  switch (error.value()) {
    case EPIPE:
    case ECONNRESET:
    case ENOTCONN:
    case ETIMEDOUT:
    case EHOSTUNREACH: return Error(Errc::kUnavailable, "the connection broke: " + error.message());
    default: return errno_error("the connection failed", error.value());
  }
}

bool hung_up(int descriptor, short also) {
  if (descriptor < 0) return true;  // It could not be registered: nothing will ever come.
  pollfd state{descriptor, also, 0};
  if (::poll(&state, 1, 0) < 0) return true;
  return (state.revents & (POLLHUP | POLLERR | also)) != 0;
}

}  // namespace

struct Stream::Impl {
  Impl(EventLoop& owner, UniqueFd descriptor)
      : loop(owner),
        family(socket_option(descriptor.get(), SO_DOMAIN)),
        socket(detail::asio_driver(owner).context()) {
    ErrorCode error;
    socket.assign(asio::generic::stream_protocol(family, 0), descriptor.get(), error);
    assigned = !error;
    if (assigned) descriptor.release();
  }

  // Waits for the socket's state; the token cancels every pending call of the socket.
  struct Ready {
    Socket& socket;
    Socket::wait_type what;
    ErrorCode error{};

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      socket.async_wait(what, [this, waiting](ErrorCode ended) {
        error = ended;
        waiting.resume();
      });
    }
    void await_resume() const noexcept {}
  };

  EventLoop& loop;
  int family = 0;
  Socket socket;
  bool assigned = false;  // False when the process is out of epoll entries: all calls then fail.
  bool reading = false;
  bool writing = false;
};

Stream::Stream(EventLoop& loop, UniqueFd descriptor) {
  CHECK(descriptor.valid(), "a stream needs an open descriptor");
  impl_ = std::make_unique<Impl>(loop, std::move(descriptor));
}

Stream::Stream(Stream&&) noexcept = default;

Stream::~Stream() {
  if (impl_ == nullptr) return;
  CHECK(!impl_->reading, "a stream was destroyed while it was read");
  CHECK(!impl_->writing, "a stream was destroyed while it was written");
}

Stream::ReadSome Stream::read_some(std::span<char> buffer) {
  CHECK(!buffer.empty(), "a read into nothing cannot tell the end");
  return ReadSome(*impl_, buffer);
}

Stream::WriteAll Stream::write_all(std::string_view bytes) { return WriteAll(*impl_, bytes); }

void Stream::interrupt() { ::shutdown(descriptor(), SHUT_RDWR); }

int Stream::descriptor() const { return impl_->socket.native_handle(); }

void Stream::ReadSome::await_suspend(std::coroutine_handle<> waiting) {
  CHECK(!stream_.reading, "two readers of one stream");
  stream_.reading = true;
  stream_.socket.async_receive(asio::buffer(buffer_.data(), buffer_.size()),
                               [this, waiting](const ErrorCode& error, std::size_t count) {
                                 stream_.reading = false;
                                 if (!error) {
                                   outcome_ = count;
                                 } else if (error != asio::error::eof) {
                                   outcome_ = broken(error);
                                 }
                                 waiting.resume();
                               });
}

bool Stream::WriteAll::await_ready() {
  CHECK(!stream_.writing, "two writers of one stream");
  while (!rest_.empty()) {
    ssize_t sent = ::send(stream_.socket.native_handle(), rest_.data(), rest_.size(),
                          MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    if (sent < 0) {
      outcome_ = broken(ErrorCode(errno, boost::system::system_category()));
      return true;
    }
    rest_.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void Stream::WriteAll::await_suspend(std::coroutine_handle<> waiting) {
  stream_.writing = true;
  waiting_ = waiting;
  write_more();
}

void Stream::WriteAll::write_more() {
  stream_.socket.async_send(asio::buffer(rest_.data(), rest_.size()),
                            [this](const ErrorCode& error, std::size_t count) {
                              rest_.remove_prefix(count);
                              if (!error && !rest_.empty()) return write_more();
                              if (error) outcome_ = broken(error);
                              stream_.writing = false;
                              waiting_.resume();
                            });
}

Async<void> Stream::hangup(StopToken token) {
  bool local = impl_->family == AF_UNIX;
  Socket::wait_type what = local ? Socket::wait_error : Socket::wait_read;
  short end = local ? short{0} : short{POLLRDHUP};
  while (true) {
    CO_TRY(token.check());
    if (hung_up(descriptor(), end)) co_return {};
    bool input_waits = !local && hung_up(descriptor(), POLLIN);
    if (input_waits) {
      CO_TRY(co_await impl_->loop.sleep(kPeerCheckInterval, token));
      continue;
    }
    StopCallback on_stop(token, [this] {
      ErrorCode ignored;
      impl_->socket.cancel(ignored);
    });
    co_await Impl::Ready{impl_->socket, what};
  }
}

Listener::Listener(EventLoop& loop, UniqueFd descriptor)
    : loop_(loop), descriptor_(std::move(descriptor)) {
  CHECK(descriptor_.valid(), "a listener needs an open descriptor");
}

Listener::~Listener() = default;

Async<UniqueFd> Listener::accept(StopToken token) {
  while (true) {
    CO_TRY(token.check());
    UniqueFd peer(::accept4(descriptor_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (peer.valid()) co_return peer;
    int reason = errno;
    if (reason == EMFILE || reason == ENFILE || reason == ENOBUFS || reason == ENOMEM) {
      co_return Error(Errc::kFull, "out of file descriptors for a connection");
    }
    if (reason != EAGAIN && reason != EWOULDBLOCK) continue;  // That client left: take the next.
    CO_TRY(co_await loop_.readable(descriptor_.get(), token));
  }
}

}  // namespace runnel::async
