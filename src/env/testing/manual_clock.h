#pragma once

#include <atomic>

#include "env/clock.h"

namespace runnel::env::testing {

// A clock that stands still until a test moves it.
//
// Contract: advance() moves both times, set_wall() only the time of day, as an administrator may.
// Threads:  any.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(Time wall = Time::from_millis(1'700'000'000'000)) : wall_(wall.millis()) {}

  Time wall() const override { return Time::from_millis(wall_.load()); }
  Duration boot() const override { return Duration::millis(boot_.load()); }

  void advance(Duration step);
  void set_wall(Time wall) { wall_.store(wall.millis()); }

 private:
  std::atomic<std::int64_t> wall_;
  std::atomic<std::int64_t> boot_{0};
};

}  // namespace runnel::env::testing
