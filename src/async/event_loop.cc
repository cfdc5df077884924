#include "async/event_loop.h"

#include <cerrno>
#include <cstdio>
#include <string>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/system_error.hpp>

#include "async/detail/asio_driver.h"
#include "async/event.h"
#include "async/gate.h"
#include "base/check.h"

namespace runnel::async {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

// A coroutine that owns itself: the root of each chain of awaits. It begins when it is resumed.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { detail::escaped_exception(); }
  };
  std::coroutine_handle<> handle;
};

Detached run_detached(std::function<void(const Error&)>& error_sink, Gate& gate, Async<void> work) {
  Result<void> ended = co_await std::move(work);
  if (!ended.ok() && ended.error().code != Errc::kCancelled) error_sink(ended.error());
  gate.leave();
}

Detached run_to_end(Async<void> work) { MUST(co_await std::move(work)); }

void print_error(const Error& error) {
  std::fprintf(stderr, "runnel: background work failed: %s\n", error.to_string().c_str());
}

// Waits until a borrowed descriptor is ready; Asio never owns it.
class ReadyAwaiter {
 public:
  ReadyAwaiter(asio::posix::stream_descriptor& watched,
               asio::posix::descriptor_base::wait_type what)
      : watched_(watched), what_(what) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    watched_.async_wait(what_, [this, waiting](ErrorCode error) {
      error_ = error;
      waiting.resume();
    });
  }
  ErrorCode await_resume() const { return error_; }

 private:
  asio::posix::stream_descriptor& watched_;
  asio::posix::descriptor_base::wait_type what_;
  ErrorCode error_;
};

// Registers a descriptor for one wait and gives it back unclosed.
class Registration {
 public:
  Registration(asio::io_context& context, int descriptor) : watched(context) {
    watched.assign(descriptor, error);
  }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;
  ~Registration() {
    if (watched.is_open()) watched.release();
  }

  asio::posix::stream_descriptor watched;
  ErrorCode error;
};

Async<void> wait_ready(EventLoop& loop, int descriptor,
                       asio::posix::descriptor_base::wait_type what, StopToken token) {
  CO_TRY(token.check());
  Registration registration(detail::asio_driver(loop).context(), descriptor);
  if (registration.error) {
    co_return errno_error("cannot watch a descriptor", registration.error.value());
  }
  StopCallback on_stop(token, [&registration] {
    ErrorCode ignored;
    registration.watched.cancel(ignored);
  });
  ErrorCode error = co_await ReadyAwaiter(registration.watched, what);
  CO_TRY(token.check());
  if (error) co_return errno_error("cannot wait for a descriptor", error.value());
  co_return {};
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  try {
    return std::make_unique<EventLoop>(std::make_unique<detail::AsioDriver>());
  } catch (const boost::system::system_error& error) {
    return errno_error("cannot create an event loop", error.code().value())
        .with_hint("raise the limit of open files (ulimit -n)");
  }
}

EventLoop::EventLoop(std::unique_ptr<Driver> driver)
    : driver_(std::move(driver)), error_sink_(print_error) {
  CHECK(driver_ != nullptr, "an event loop stands on nothing");
}

EventLoop::~EventLoop() = default;

void EventLoop::run() { driver_->run(); }

void EventLoop::start(Async<void> driver) { driver_->resume(run_to_end(std::move(driver)).handle); }

void EventLoop::stop() { driver_->stop(); }

void EventLoop::post(std::function<void()> action) { driver_->post(std::move(action)); }

void EventLoop::resume_soon(std::coroutine_handle<> waiting) {
  CHECK(on_loop_thread(), "a coroutine is resumed from another thread");
  driver_->resume(waiting);
}

bool EventLoop::on_loop_thread() const { return driver_->on_thread(); }

Result<void> EventLoop::spawn(Gate& gate, Async<void> work) {
  CHECK(on_loop_thread(), "spawn() from another thread: post() there instead");
  TRY(gate.enter());
  driver_->resume(run_detached(error_sink_, gate, std::move(work)).handle);
  return {};
}

void EventLoop::on_detached_error(std::function<void(const Error&)> sink) {
  CHECK(sink != nullptr, "an empty error sink");
  error_sink_ = std::move(sink);
}

Async<void> EventLoop::sleep(Duration length, StopToken token) {
  Notifier never(*this);
  Wake wake = CO_TRY(co_await never.wait_for(length, std::move(token)));
  CHECK(wake == Wake::kTimeout, "a sleep was notified");
  co_return {};
}

namespace {

struct NextTurn {
  EventLoop& loop;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) const { loop.resume_soon(waiting); }
  void await_resume() const noexcept {}
};

}  // namespace

Async<void> EventLoop::yield() {
  co_await NextTurn{*this};
  co_return {};
}

Async<void> EventLoop::readable(int descriptor, StopToken token) {
  return wait_ready(*this, descriptor, asio::posix::descriptor_base::wait_read, std::move(token));
}

Async<void> EventLoop::writable(int descriptor, StopToken token) {
  return wait_ready(*this, descriptor, asio::posix::descriptor_base::wait_write, std::move(token));
}

Result<void> EventLoop::on_signal(int signal_number, std::function<void()> action) {
  return detail::asio_driver(*this).on_signal(signal_number, std::move(action));
}

void Timer::start(Duration delay, std::function<void()> action) {
  CHECK(action != nullptr, "a timer without an action");
  timer_->start(delay, std::move(action));
}

}  // namespace runnel::async
