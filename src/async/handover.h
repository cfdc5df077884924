#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/result.h"

namespace runnel::async {

// A result that one thread gives and another waits for.
//
// Contract: given once, taken once.
// Threads:  any two. It may be destroyed as soon as it was taken.
// Why:      std::promise has thread-local variables of the C++ library, which a shared library that
//           is loaded late may find no room for.
template <typename T>
class Handover {
 public:
  void give(Result<T> result) {
    const std::lock_guard lock(mutex_);
    CHECK(!result_.has_value(), "a result is given twice");
    result_.emplace(std::move(result));
    given_.notify_one();  // Under the lock: whoever waits destroys this right afterwards.
  }
  Result<T> take() {
    std::unique_lock lock(mutex_);
    given_.wait(lock, [this] { return result_.has_value(); });
    return *std::move(result_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable given_;
  std::optional<Result<T>> result_;  // Under the mutex.
};

}  // namespace runnel::async
