#include "async/driver.h"

#include <algorithm>
#include <coroutine>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

// What every driver promises, on the machine and in virtual time.
class DriverTest : public testing::EitherLoopTest {
 protected:
  Driver& driver() { return loop().driver(); }
  std::unique_ptr<Driver::Thread> thread() { return MUST(driver().thread("test-thread")); }
  void end(Driver::Thread& thread) {
    thread.end([this] { driver().stop(); });
    driver().run();
  }

  std::string log_;
};

struct Resumed {
  struct promise_type {
    Resumed get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept {}
  };
  std::coroutine_handle<> handle;
};

Resumed note(std::string& log, std::string name) {
  log += name;
  co_return;
}

TEST_P(DriverTest, PostedAndResumedWorkRunsInOneOrder) {
  driver().post([this] { log_ += "a"; });
  driver().resume(note(log_, "b").handle);
  driver().post([this] {
    log_ += "c";
    driver().resume(note(log_, "e").handle);
    driver().post([this] { driver().stop(); });
  });
  driver().resume(note(log_, "d").handle);
  driver().run();
  EXPECT_EQ(log_, "abcde");
}

TEST_P(DriverTest, AStopBeforeTheRunCountsAndEndsOnlyThatRun) {
  driver().stop();
  driver().run();
  driver().post([this] {
    log_ += "a";
    driver().stop();
  });
  driver().run();
  EXPECT_EQ(log_, "a");
}

TEST_P(DriverTest, ATimerIsReplacedCancelledAndDestroyed) {
  const auto timer = driver().timer();
  timer->start(Duration::millis(1), [this] { log_ += "replaced"; });
  timer->start(Duration::millis(4), [this] { log_ += "second"; });
  const auto cancelled = driver().timer();
  cancelled->start(Duration::millis(1), [this] { log_ += "cancelled"; });
  cancelled->cancel();
  EXPECT_TRUE(timer->active());
  EXPECT_FALSE(cancelled->active());
  auto destroyed = driver().timer();
  destroyed->start(Duration(), [this] { log_ += "destroyed"; });
  destroyed.reset();
  MUST(wait(loop().sleep(Duration::millis(20))));
  EXPECT_EQ(log_, "second");
  EXPECT_FALSE(timer->active());
}

TEST_P(DriverTest, ATimersActionMayRestartAndDestroyIt) {
  int rounds = 0;
  auto timer = driver().timer();
  std::function<void()> tick = [&] {
    if (++rounds < 3) return timer->start(Duration::millis(1), tick);
    timer.reset();
    driver().stop();
  };
  timer->start(Duration::millis(1), tick);
  driver().run();
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(timer, nullptr);
}

TEST_P(DriverTest, TimersOfDifferentTimesRunInTheirOrder) {
  std::vector<std::unique_ptr<Driver::Timer>> timers;
  for (const int millis : {30, 10, 20, 0}) {
    timers.push_back(driver().timer());
    timers.back()->start(Duration::millis(millis),
                         [this, millis] { log_ += std::to_string(millis) + " "; });
  }
  MUST(wait(loop().sleep(Duration::millis(50))));
  EXPECT_EQ(log_, "0 10 20 30 ");
}

TEST_P(DriverTest, AThreadRunsItsCallsInOrderAndTellsTheLoop) {
  const auto one = thread();
  std::vector<int> called;
  std::vector<int> done;
  for (int i = 0; i < 20; ++i) {
    one->run([&called, i] { called.push_back(i); }, [&done, i] { done.push_back(i); });
  }
  EXPECT_TRUE(done.empty()) << "it is told inside run()";
  end(*one);
  ASSERT_EQ(called.size(), 20U) << "the end comes after what was given before";
  EXPECT_EQ(called, done);
  EXPECT_TRUE(std::is_sorted(called.begin(), called.end()));
}

TEST_P(DriverTest, WhatACallGivesBackMayGiveTheNext) {
  const auto one = thread();
  std::function<void(int)> again = [&](int left) {
    log_ += std::to_string(left);
    if (left == 0) return driver().stop();
    one->run([] {}, [&again, left] { again(left - 1); });
  };
  one->run([] {}, [&again] { again(3); });
  driver().run();
  EXPECT_EQ(log_, "3210");
  end(*one);
}

TEST_P(DriverTest, TwoThreadsWaitForNoneOfTheOther) {
  const auto one = thread();
  const auto other = thread();
  int done = 0;
  for (int i = 0; i < 50; ++i) {
    one->run([] {}, [&done] { ++done; });
    other->run([] {}, [&done] { ++done; });
  }
  end(*one);
  end(*other);
  EXPECT_EQ(done, 100);
}

TEST_P(DriverTest, ACallAfterTheEndEndsTheProcess) {
  EXPECT_DEATH(
      {
        const auto one = thread();
        one->end([] {});
        one->run([] {}, [] {});
      },
      "after the end");
}

INSTANTIATE_TEST_SUITE_P(, DriverTest, testing::on_both_grounds(), testing::ground_name);

}  // namespace
}  // namespace runnel::async
