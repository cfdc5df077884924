#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "async/unique_fd.h"
#include "base/result.h"

namespace runnel::async {

// A connected socket of one loop.
//
// Contract: read_some() yields 0 at the end of the input; write_all() returns when the kernel has
//           taken everything. One reader and one writer at a time. A peer that went away is
//           kUnavailable. interrupt() ends both directions: pending calls return soon.
// Threads:  the loop's only.
// Lifetime: nothing is pending at destruction; owns and closes the descriptor.
class Stream {
 public:
  Stream(EventLoop& loop, UniqueFd descriptor);
  Stream(Stream&&) noexcept;
  ~Stream();

  // Not cancellable by token: interrupt() is the way to end a pending call of the hot path.
  class ReadSome;
  ReadSome read_some(std::span<char> buffer);
  class WriteAll;
  WriteAll write_all(std::string_view bytes);  // `bytes` stay valid until the await returns.
  // Returns when the peer is gone: a Unix peer has closed both directions, a TCP peer has ended its
  // output (which of the two it meant cannot be told), or the connection broke. Reads nothing.
  // Stopping the token also breaks off a pending read or write.
  Async<void> hangup(StopToken token);

  void interrupt();
  int descriptor() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Awaitable that yields Result<std::size_t>.
class Stream::ReadSome {
 public:
  ReadSome(Impl& stream, std::span<char> buffer) : stream_(stream), buffer_(buffer) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiting);
  Result<std::size_t> await_resume() { return std::move(outcome_); }

 private:
  Impl& stream_;
  std::span<char> buffer_;
  Result<std::size_t> outcome_ = std::size_t{0};
};

// Awaitable that yields Result<void>; does not suspend when the kernel takes everything at once.
class Stream::WriteAll {
 public:
  WriteAll(Impl& stream, std::string_view bytes) : stream_(stream), rest_(bytes) {}
  bool await_ready();
  void await_suspend(std::coroutine_handle<> waiting);
  Result<void> await_resume() { return std::move(outcome_); }

 private:
  void write_more();

  Impl& stream_;
  std::string_view rest_;
  std::coroutine_handle<> waiting_;
  Result<void> outcome_;
};

// A listening socket of one loop.
class Listener {
 public:
  Listener(EventLoop& loop, UniqueFd descriptor);
  ~Listener();
  // The next connection, non-blocking and close-on-exec; kCancelled once the token stops.
  // kFull when the process is out of descriptors: wait and try again.
  Async<UniqueFd> accept(StopToken token);
  const UniqueFd& descriptor() const { return descriptor_; }

 private:
  EventLoop& loop_;
  UniqueFd descriptor_;
};

}  // namespace runnel::async
