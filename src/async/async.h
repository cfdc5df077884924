#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "base/result.h"

namespace runnel::async {

template <typename T>
class Async;

namespace detail {

[[noreturn]] void escaped_exception();

// Hands control to whoever awaited, without growing the stack.
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
    return self.promise().continuation;
  }
  void await_resume() const noexcept {}
};

template <typename T>
struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::optional<Result<T>> result;
  bool started = false;

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() const noexcept { escaped_exception(); }
  void return_value(Result<T> outcome) { result.emplace(std::move(outcome)); }
};

template <typename T>
struct Promise : PromiseBase<T> {
  using PromiseBase<T>::return_value;
  template <typename U = T>
    requires std::convertible_to<U&&, T> && (!std::same_as<std::remove_cvref_t<U>, Result<T>>) &&
             (!std::same_as<std::remove_cvref_t<U>, Error>)
  void return_value(U&& value) {
    this->result.emplace(T(std::forward<U>(value)));
  }
  Async<T> get_return_object();
};

template <>
struct Promise<void> : PromiseBase<void> {
  Async<void> get_return_object();
};

}  // namespace detail

// Work that has not started yet and will yield a Result<T>.
//
// Contract: lazy: nothing runs before `co_await std::move(work)` (or EventLoop::spawn/block_on).
//           Awaited at most once; the await yields Result<T>. A body ends with `co_return value`,
//           `co_return Error(...)`, `co_return result`, and in Async<void> with `co_return {};`
//           (an Async<void> must not run off its end: it has no return_void).
// Threads:  runs on the thread that awaits or resumes it: one event loop.
// Lifetime: work that has started runs to its end: dropping it earlier ends the process. Cancel it
//           by its StopToken. Parameters are copied into the frame; see the coroutine law in
//           CONTRIBUTING.md for references.
// Why:      Asio's awaitable throws, cannot carry Result and brings Asio into every header that
//           mentions it (docs/design/async.md).
template <typename T = void>
class [[nodiscard]] Async {
 public:
  using promise_type = detail::Promise<T>;
  using ValueType = T;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Async(Handle handle) : handle_(handle) {}
  Async(Async&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Async& operator=(Async&& other) noexcept {
    if (this != &other) {
      drop();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  Async(const Async&) = delete;
  Async& operator=(const Async&) = delete;
  ~Async() { drop(); }

  class Awaiter {
   public:
    explicit Awaiter(Handle handle) : handle_(handle) {}
    bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) const {
      CHECK(!handle_.promise().started, "an Async is awaited twice");
      handle_.promise().started = true;
      handle_.promise().continuation = waiting;
      return handle_;
    }
    Result<T> await_resume() const {
      CHECK(handle_.promise().result.has_value(), "an Async ended without a result");
      return *std::move(handle_.promise().result);
    }

   private:
    Handle handle_;
  };

  Awaiter operator co_await() && {
    CHECK(handle_, "an Async that was moved away is awaited");
    return Awaiter(handle_);
  }

 private:
  void drop() {
    if (!handle_) return;
    CHECK(!handle_.promise().started || handle_.done(), "an Async was dropped while it ran");
    handle_.destroy();
    handle_ = {};
  }

  Handle handle_;
};

template <typename T>
Async<T> detail::Promise<T>::get_return_object() {
  return Async<T>(std::coroutine_handle<Promise>::from_promise(*this));
}

inline Async<void> detail::Promise<void>::get_return_object() {
  return Async<void>(std::coroutine_handle<Promise>::from_promise(*this));
}

}  // namespace runnel::async

namespace runnel {
using async::Async;  // Part of everyday vocabulary, like Result.
}  // namespace runnel
