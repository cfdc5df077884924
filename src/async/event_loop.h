#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "async/async.h"
#include "async/driver.h"
#include "async/stop_token.h"
#include "base/result.h"
#include "base/units.h"

namespace runnel::async {

class Gate;

// One thread's loop of timers, descriptors, signals and posted work, over a driver: the machine's,
// or one in virtual time, which has timers, posted work and workers alone.
//
// Contract: run() returns after stop(), also after one that came first; it may be called again.
//           A call that needs the loop CHECKs that it is on its thread. Posted work runs in order.
// Threads:  post() and stop() from any; the rest on the thread in run(), or before run().
// Lifetime: outlives everything that uses it. Gates are closed before the loop is destroyed.
// Why:      Boost.Asio is behind the machine's driver, so that no user of this module compiles it.
// Limits:   the queue of posted work has no maximum of its own: each entry belongs to a suspended
//           coroutine, a Worker's queue or a gate, and these are bounded.
class EventLoop {
 public:
  static Result<std::unique_ptr<EventLoop>> create();
  // Over a driver of the caller's choice.
  explicit EventLoop(std::unique_ptr<Driver> driver);
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  void run();
  void stop();
  void post(std::function<void()> action);

  // Starts detached work at the next turn of the loop. It enters `gate` and leaves it at its end.
  // kCancelled when the gate is closed; the work is then never started. An error of the work other
  // than kCancelled goes to the sink of on_detached_error.
  Result<void> spawn(Gate& gate, Async<void> work);
  // Default: one line on stderr.
  void on_detached_error(std::function<void(const Error&)> sink);

  // Runs the loop until `work` has ended and returns its result: for main() and tests.
  template <typename T>
  Result<T> block_on(Async<T> work) {
    std::optional<Result<T>> result;
    start(drive(*this, std::move(work), result));
    while (!result.has_value()) run();  // Somebody else's stop() does not end this.
    return *std::move(result);
  }

  Async<void> sleep(Duration length, StopToken token = {});
  // Lets all run first who are ready by now.
  Async<void> yield();
  // Once the descriptor can be read (or is at its end) or written (or is broken). The descriptor is
  // borrowed and must stay open; one wait per descriptor at a time.
  Async<void> readable(int descriptor, StopToken token = {});
  Async<void> writable(int descriptor, StopToken token = {});

  // Calls `action` on the loop at each arrival of the signal, instead of its default effect.
  Result<void> on_signal(int signal_number, std::function<void()> action);

  bool on_loop_thread() const;
  // Resumes the coroutine at the next turn. Loop thread only; for awaiters.
  void resume_soon(std::coroutine_handle<> waiting);

  Driver& driver() { return *driver_; }

 private:
  template <typename T>
  static Async<void> drive(EventLoop& loop, Async<T> work, std::optional<Result<T>>& result) {
    result.emplace(co_await std::move(work));
    loop.stop();
    co_return {};
  }
  void start(Async<void> driver);

  std::unique_ptr<Driver> driver_;
  std::function<void(const Error&)> error_sink_;
};

// One callback at a later time; start() replaces what was set before.
//
// Contract: after cancel(), start() or destruction the earlier callback never runs.
// Threads:  the loop's only.
// Lifetime: the callback may destroy or restart its Timer.
class Timer {
 public:
  explicit Timer(EventLoop& loop) : timer_(loop.driver().timer()) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  void start(Duration delay, std::function<void()> action);
  void cancel() { timer_->cancel(); }
  bool active() const { return timer_->active(); }

 private:
  std::unique_ptr<Driver::Timer> timer_;
};

}  // namespace runnel::async
