#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "async/async.h"
#include "async/event_loop.h"

namespace runnel::async {

namespace detail {

template <typename T>
struct WorkerValue {
  using Type = T;
};
template <typename T>
struct WorkerValue<Result<T>> {
  using Type = T;
};

}  // namespace detail

struct WorkerOptions {
  std::string name;               // Shown by ps and debuggers; at most 15 bytes.
  std::size_t queued_max = 1024;  // More are refused with kFull.
};

// A named thread that runs blocking functions one after another and resumes their callers on the
// loop: SQLite commits, fsyncs, name resolution.
//
// Contract: functions run in the order of run(), one at a time. kFull when `queued_max` wait
//           already, kCancelled after stop(). stop() runs what is queued, then ends the thread.
// Threads:  run() and stop() on the loop; the function on the worker's thread only, so what it
//           touches must be its own, or left alone by the loop until the await returns.
// Lifetime: stop() is awaited before destruction (CHECKed).
class Worker {
 public:
  static Result<std::unique_ptr<Worker>> create(EventLoop& loop, WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `function()` returns T or Result<T>; it must not throw.
  template <typename Function,
            typename T = typename detail::WorkerValue<std::invoke_result_t<Function&>>::Type>
  Async<T> run(Function function) {
    std::optional<Result<T>> outcome;
    auto call = [&function, &outcome] {
      if constexpr (std::is_void_v<std::invoke_result_t<Function&>>) {
        function();
        outcome.emplace();
      } else {
        outcome.emplace(function());
      }
    };
    // The frame stays suspended, and so `call` alive, until the worker has run it.
    CO_TRY(co_await submit(std::move(call)));
    co_return *std::move(outcome);
  }

  Async<void> stop();
  std::size_t queued() const;

 private:
  struct Impl;
  explicit Worker(std::unique_ptr<Impl> impl);
  Async<void> submit(std::function<void()> call);

  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::async
