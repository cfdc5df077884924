#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/virtual/process.h"
#include "base/agenda.h"
#include "base/result.h"

namespace runnel::async::testing {

// What a test's loop stands on.
enum class Ground : std::uint8_t { kMachine, kVirtual };

// A test with an event loop of its own, which runs while a test waits for work.
class LoopTest : public ::testing::Test {
 protected:
  explicit LoopTest(Ground ground = Ground::kMachine) {
    loop_ = ground == Ground::kMachine
                ? MUST(EventLoop::create())
                : std::make_unique<EventLoop>(std::make_unique<VirtualProcess>(agenda_, options()));
  }

  EventLoop& loop() { return *loop_; }

  template <typename T>
  Result<T> wait(Async<T> work) {
    return loop_->block_on(std::move(work));
  }

  // Lets everything that was posted, and what that posts, run.
  void settle() {
    for (int turn = 0; turn < 3; ++turn) MUST(wait(loop_->sleep(Duration::millis(1))));
  }

 private:
  static VirtualOptions options() {
    return {1, [](std::string_view) { return Duration::millis(1); }};
  }

  Agenda agenda_{Time()};
  std::unique_ptr<EventLoop> loop_;
};

// The same over both grounds; INSTANTIATE_TEST_SUITE_P with on_both_grounds() and ground_name.
class EitherLoopTest : public LoopTest, public ::testing::WithParamInterface<Ground> {
 protected:
  EitherLoopTest() : LoopTest(GetParam()) {}
};

inline auto on_both_grounds() { return ::testing::Values(Ground::kMachine, Ground::kVirtual); }
inline std::string ground_name(const ::testing::TestParamInfo<Ground>& info) {
  return info.param == Ground::kMachine ? "Machine" : "Virtual";
}

}  // namespace runnel::async::testing
