#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/handover.h"
#include "base/result.h"
#include "base/units.h"

namespace runnel::async {

// Work on an event loop with a thread of its own, for callers that are no coroutines: a library in
// somebody else's process.
//
// Contract: the work begins with start() and ends by itself; who wants it to end sooner stops it by
//           what it was made with. call() does more on the loop while the work goes on, and fails
//           with kGone afterwards. Signals of the process are left to its other threads.
// Threads:  any but the loop's; several may call at once. Work and calls run on the loop.
// Lifetime: the destructor waits for the end of the work.
class LoopThread {
 public:
  using Work = std::function<Async<void>(EventLoop&)>;

  // `name` is shown by ps and debuggers; at most 15 bytes. kUnavailable when the machine has no
  // thread left.
  static Result<std::unique_ptr<LoopThread>> start(const std::string& name, Work work);
  ~LoopThread();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  // The result of what `function` begins on the loop.
  template <typename T>
  Result<T> call(std::function<Async<T>()> function) {
    Handover<T> result;
    const bool begun = begin([&function, &result] { return deliver<T>(function, result); });
    if (!begun) return Error(Errc::kGone, "the loop has ended");
    return result.take();
  }

  // Whether the work has ended.
  bool has_ended() const;
  // The result of the work, once it has ended; none when that takes longer.
  std::optional<Result<void>> wait_for_end(Duration limit);

 private:
  explicit LoopThread(std::unique_ptr<EventLoop> loop);

  template <typename T>
  static Async<void> deliver(const std::function<Async<T>()>& function, Handover<T>& result) {
    result.give(co_await function());
    co_return {};
  }
  bool begin(std::function<Async<void>()> call);
  Result<void> start_thread(const std::string& name, Work work);
  void serve(const std::string& name, const Work& work) noexcept;
  Async<void> run(const Work& work);

  std::unique_ptr<EventLoop> loop_;
  Gate calls_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;                  // Under the mutex, as the next.
  std::optional<Result<void>> result_;  // When the thread is done.
  std::thread thread_;
};

}  // namespace runnel::async
