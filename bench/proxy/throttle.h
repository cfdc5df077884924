#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

namespace runnel::bench {

using SteadyClock = std::chrono::steady_clock;

// A link of so many bytes a second, for one connection or for all.
//
// Contract: pass() returns when the bytes would have gone over the link behind those before.
// Threads:  any.
class Throttle {
 public:
  // 0: as fast as it goes.
  explicit Throttle(std::int64_t bytes_per_second) : rate_(bytes_per_second) {}

  void pass(std::uint64_t bytes) {
    if (rate_ > 0) std::this_thread::sleep_until(gone_at(bytes));
  }

 private:
  // Who sleeps wakes late: that much of the link's time is not lost.
  static constexpr std::chrono::milliseconds kLate{2};

  SteadyClock::time_point gone_at(std::uint64_t bytes) {
    const std::chrono::duration<double> takes(static_cast<double>(bytes) /
                                              static_cast<double>(rate_));
    const std::lock_guard lock(mutex_);
    free_at_ = std::max(free_at_, SteadyClock::now() - kLate) +
               std::chrono::duration_cast<SteadyClock::duration>(takes);
    return free_at_;
  }

  const std::int64_t rate_;
  std::mutex mutex_;
  SteadyClock::time_point free_at_;  // Under the mutex.
};

}  // namespace runnel::bench
