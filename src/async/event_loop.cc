#include "async/event_loop.h"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include "async/detail/loop_impl.h"
#include "async/event.h"
#include "async/gate.h"
#include "base/check.h"

namespace runnel::async {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

// A coroutine that owns itself: the root of each chain of awaits.
struct Detached {
  struct promise_type {
    Detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { detail::escaped_exception(); }
  };
};

Detached run_detached(EventLoop::Impl& loop, Gate& gate, Async<void> work) {
  Result<void> ended = co_await std::move(work);
  if (!ended.ok() && ended.error().code != Errc::kCancelled) loop.error_sink(ended.error());
  gate.leave();
}

Detached run_to_end(Async<void> work) { MUST(co_await std::move(work)); }

void print_error(const Error& error) {
  std::fprintf(stderr, "runnel: background work failed: %s\n", error.to_string().c_str());
}

void arm(EventLoop::Impl::Signal& signal) {
  signal.set.async_wait([&signal](ErrorCode error, int) {
    if (error) return;  // The loop is being destroyed.
    signal.action();
    arm(signal);
  });
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

Async<void> wait_ready(EventLoop::Impl& loop, int descriptor,
                       asio::posix::descriptor_base::wait_type what, StopToken token) {
  CO_TRY(token.check());
  Registration registration(loop.context, descriptor);
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
    auto impl = std::make_unique<Impl>();
    impl->error_sink = print_error;
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(impl)));
  } catch (const boost::system::system_error& error) {
    return errno_error("cannot create an event loop", error.code().value())
        .with_hint("raise the limit of open files (ulimit -n)");
  }
}

EventLoop::EventLoop(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

EventLoop::~EventLoop() {
  CHECK(impl_->runner.load() == std::thread::id(), "an event loop was destroyed while it ran");
}

void EventLoop::run() {
  CHECK(impl_->runner.exchange(std::this_thread::get_id()) == std::thread::id(),
        "run() of an event loop that runs already");
  impl_->context.run();
  impl_->context.restart();  // After the run: a stop() that came before it must not be lost.
  impl_->runner.store(std::thread::id());
}

void EventLoop::post_driver(Async<void> driver) {
  impl_->post([work = std::move(driver)]() mutable { run_to_end(std::move(work)); });
}

void EventLoop::stop() { impl_->context.stop(); }

void EventLoop::post(std::function<void()> action) { impl_->post(std::move(action)); }

void EventLoop::resume_soon(std::coroutine_handle<> waiting) {
  CHECK(on_loop_thread(), "a coroutine is resumed from another thread");
  impl_->post([waiting] { waiting.resume(); });
}

bool EventLoop::on_loop_thread() const {
  std::thread::id runner = impl_->runner.load();
  return runner == std::thread::id() || runner == std::this_thread::get_id();
}

Result<void> EventLoop::spawn(Gate& gate, Async<void> work) {
  CHECK(on_loop_thread(), "spawn() from another thread: post() there instead");
  TRY(gate.enter());
  impl_->post([this, &gate, work = std::move(work)]() mutable {
    run_detached(*impl_, gate, std::move(work));
  });
  return {};
}

void EventLoop::on_detached_error(std::function<void(const Error&)> sink) {
  CHECK(sink != nullptr, "an empty error sink");
  impl_->error_sink = std::move(sink);
}

Async<void> EventLoop::sleep(Duration length, StopToken token) {
  Notifier never(*this);
  Result<Wake> woken = co_await never.wait_for(length, std::move(token));
  Wake wake = CO_TRY(std::move(woken));
  CHECK(wake == Wake::kTimeout, "a sleep was notified");
  co_return {};
}

Async<void> EventLoop::readable(int descriptor, StopToken token) {
  return wait_ready(*impl_, descriptor, asio::posix::descriptor_base::wait_read, std::move(token));
}

Async<void> EventLoop::writable(int descriptor, StopToken token) {
  return wait_ready(*impl_, descriptor, asio::posix::descriptor_base::wait_write, std::move(token));
}

Result<void> EventLoop::on_signal(int signal_number, std::function<void()> action) {
  std::unique_ptr<Impl::Signal>& signal = impl_->signals[signal_number];
  if (signal != nullptr) {
    signal->action = std::move(action);
    return {};
  }
  signal = std::make_unique<Impl::Signal>(impl_->context);
  ErrorCode error;
  signal->set.add(signal_number, error);
  if (error) {
    impl_->signals.erase(signal_number);
    return errno_error("cannot handle signal " + std::to_string(signal_number), error.value());
  }
  signal->action = std::move(action);
  arm(*signal);
  return {};
}

struct Timer::Impl {
  explicit Impl(EventLoop& owner) : loop(owner), timer(owner.impl().context) {}

  EventLoop& loop;
  asio::steady_timer timer;
  std::function<void()> action;
  std::uint64_t generation = 0;  // Tells a late completion that it was replaced.
  bool active = false;
};

Timer::Timer(EventLoop& loop) : impl_(std::make_shared<Impl>(loop)) {}

Timer::~Timer() { cancel(); }

void Timer::start(Duration delay, std::function<void()> action) {
  CHECK(impl_->loop.on_loop_thread(), "a timer is started from another thread");
  CHECK(action != nullptr, "a timer without an action");
  impl_->action = std::move(action);
  impl_->active = true;
  std::uint64_t generation = ++impl_->generation;
  impl_->timer.expires_after(std::chrono::milliseconds(delay.millis()));
  impl_->timer.async_wait([impl = impl_, generation](ErrorCode) {
    if (!impl->active || generation != impl->generation) return;
    impl->active = false;
    std::function<void()> due = std::move(impl->action);
    due();
  });
}

void Timer::cancel() {
  if (!impl_->active) return;
  CHECK(impl_->loop.on_loop_thread(), "a timer is cancelled from another thread");
  impl_->active = false;
  impl_->action = nullptr;
  impl_->timer.cancel();
}

bool Timer::active() const { return impl_->active; }

}  // namespace runnel::async
