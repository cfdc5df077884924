#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "base/result.h"

namespace runnel::async::testing {

// A test with an event loop of its own, which runs while a test waits for work.
class LoopTest : public ::testing::Test {
 protected:
  LoopTest() : loop_(MUST(EventLoop::create())) {}

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
  std::unique_ptr<EventLoop> loop_;
};

}  // namespace runnel::async::testing
