#include "async/loop_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/event.h"

namespace runnel::async {
namespace {

// Goes on until it is told to end.
struct UntilTold {
  StopSource stop;

  LoopThread::Work work() {
    return [this](EventLoop& loop) { return wait(loop, stop.token()); };
  }
  static Async<void> wait(EventLoop& loop, StopToken told) {
    const Result<void> slept = co_await loop.sleep(Duration::hours(1), std::move(told));
    CHECK(!slept.ok(), "an hour has passed");
    co_return Error(Errc::kIo, "as it was told");
  }
  static Async<void> end(StopSource& stop) {
    stop.stop();
    co_return {};
  }
  void tell(LoopThread& thread) {
    MUST(thread.call<void>([this] { return end(stop); }));
  }
};

Async<std::string> own_name() {
  char text[16];
  pthread_getname_np(pthread_self(), text, sizeof text);
  co_return std::string(text);
}

Async<int> number(int value) { co_return value; }
Async<int> fail() { co_return Error(Errc::kIo, "disk"); }

TEST(LoopThread, AnswersCallsOnAThreadOfItsOwn) {
  UntilTold until;
  const auto thread = MUST(LoopThread::start("test-loop", until.work()));
  EXPECT_EQ(MUST(thread->call<std::string>(own_name)), "test-loop");
  const Result<int> failed = thread->call<int>(fail);
  EXPECT_EQ(failed.error().message, "disk");
  EXPECT_FALSE(thread->has_ended());
  EXPECT_FALSE(thread->wait_for_end(Duration::millis(1)).has_value());
  until.tell(*thread);
  EXPECT_EQ(thread->wait_for_end(Duration::minutes(1)).value().error().message, "as it was told");
}

TEST(LoopThread, AnswersSeveralThreadsAtOnce) {
  UntilTold until;
  const auto thread = MUST(LoopThread::start("test-loop", until.work()));
  std::atomic<int> sum = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&thread, &sum] {
      for (int value = 1; value <= 200; ++value) {
        sum += MUST(thread->call<int>([value] { return number(value); }));
      }
    });
  }
  for (std::thread& each : callers) each.join();
  EXPECT_EQ(sum, 8 * 200 * 201 / 2);
  until.tell(*thread);
}

// Each call is answered, or refused: none waits for ever.
TEST(LoopThread, LeavesNoCallWithoutAnAnswerWhenItEnds) {
  for (int round = 0; round < 50; ++round) {
    UntilTold until;
    const auto thread = MUST(LoopThread::start("test-loop", until.work()));
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&thread] {
        while (true) {
          const Result<int> answer = thread->call<int>([] { return number(7); });
          if (answer.ok()) continue;
          EXPECT_EQ(answer.error().code, Errc::kGone);
          return;
        }
      });
    }
    until.tell(*thread);
    for (std::thread& each : callers) each.join();
    EXPECT_TRUE(thread->has_ended());
  }
}

Async<std::string> slow_answer(EventLoop& loop, std::promise<void>& begun) {
  begun.set_value();
  CO_TRY(co_await loop.sleep(Duration::millis(30)));
  co_return std::string("late");
}

TEST(LoopThread, WaitsForCallsThatAreUnderWay) {
  UntilTold until;
  EventLoop* loop = nullptr;
  const LoopThread::Work work = until.work();
  const auto thread = MUST(LoopThread::start("test-loop", [&](EventLoop& own) {
    loop = &own;
    return work(own);
  }));
  std::promise<void> begun;
  std::string answer;
  std::thread caller(
      [&] { answer = MUST(thread->call<std::string>([&] { return slow_answer(*loop, begun); })); });
  begun.get_future().wait();
  until.tell(*thread);
  caller.join();
  EXPECT_EQ(answer, "late");
}

Async<bool> is_blocked(int signal_number) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  co_return sigismember(&blocked, signal_number) == 1;
}

TEST(LoopThread, LeavesSignalsToOtherThreads) {
  UntilTold until;
  const auto thread = MUST(LoopThread::start("test-loop", until.work()));
  EXPECT_TRUE(MUST(thread->call<bool>([] { return is_blocked(SIGINT); })));
  EXPECT_FALSE(MUST(thread->call<bool>([] { return is_blocked(SIGSEGV); })));
  sigset_t here;
  pthread_sigmask(SIG_SETMASK, nullptr, &here);
  EXPECT_EQ(sigismember(&here, SIGINT), 0);
  until.tell(*thread);
}

Async<void> fail_at_once(EventLoop& /*loop*/) { co_return Error(Errc::kInvalid, "no such thing"); }

TEST(LoopThread, ItsWorkMayEndByItself) {
  const auto thread = MUST(LoopThread::start("test-loop", fail_at_once));
  EXPECT_EQ(thread->wait_for_end(Duration::minutes(1)).value().error().code, Errc::kInvalid);
  EXPECT_TRUE(thread->has_ended());
  EXPECT_EQ(thread->call<int>([] { return number(1); }).error().code, Errc::kGone);
}

Async<void> end_later(EventLoop& loop, std::atomic<bool>& ended) {
  CO_TRY(co_await loop.sleep(Duration::millis(30)));
  ended = true;
  co_return {};
}

TEST(LoopThread, ItsDestructorWaitsForTheWork) {
  std::atomic<bool> ended = false;
  {
    const auto thread = MUST(LoopThread::start(
        "test-loop", [&ended](EventLoop& loop) { return end_later(loop, ended); }));
    EXPECT_FALSE(thread->has_ended());
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace runnel::async
