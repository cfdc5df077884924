#include "async/event_loop.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/testing/loop_test.h"
#include "async/together.h"
#include "async/unique_fd.h"

namespace runnel::async {
namespace {

using EventLoopTest = testing::LoopTest;

struct Pipe {
  Pipe() {
    int ends[2];
    CHECK(::pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0, "a pipe for a test");
    output = UniqueFd(ends[0]);
    input = UniqueFd(ends[1]);
  }
  UniqueFd output;
  UniqueFd input;
};

TEST_F(EventLoopTest, PostedWorkRunsInOrder) {
  std::string order;
  loop().post([&] { order += "a"; });
  loop().post([&] {
    order += "b";
    loop().post([&] {
      order += "d";
      loop().stop();
    });
  });
  loop().post([&] { order += "c"; });
  loop().run();
  EXPECT_EQ(order, "abcd");
}

TEST_F(EventLoopTest, AStopBeforeTheRunCountsAndEndsOnlyThatRun) {
  loop().stop();
  loop().run();
  int value = 0;
  loop().post([&] {
    value = 1;
    loop().stop();
  });
  loop().run();
  EXPECT_EQ(value, 1);
}

TEST_F(EventLoopTest, BlockOnGoesOnThroughAStop) {
  Timer timer(loop());
  timer.start(Duration::millis(1), [&] { loop().stop(); });
  EXPECT_TRUE(wait(loop().sleep(Duration::millis(10))).ok());
}

TEST_F(EventLoopTest, PostAndStopWorkFromOtherThreads) {
  constexpr int kPosts = 1000;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kPosts; ++i) {
        loop().post([&] {
          if (++count == 4 * kPosts) loop().stop();
        });
      }
    });
  }
  loop().run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4 * kPosts);
}

TEST_F(EventLoopTest, ResumingFromAnotherThreadEndsTheProcess) {
  EXPECT_DEATH(
      {
        loop().post([&] {
          std::thread other([&] { loop().resume_soon(std::noop_coroutine()); });
          other.join();
        });
        loop().run();
      },
      "resumed from another thread");
}

TEST_F(EventLoopTest, SleepTakesItsTimeAndStopsEarlyWithItsToken) {
  auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(wait(loop().sleep(Duration::millis(20))).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(20));

  StopSource source;
  Timer timer(loop());
  timer.start(Duration::millis(2), [&] { source.stop(); });
  EXPECT_EQ(wait(loop().sleep(Duration::hours(1), source.token())).error().code, Errc::kCancelled);
}

TEST_F(EventLoopTest, ATimerCanBeReplacedAndCancelled) {
  std::string log;
  Timer timer(loop());
  timer.start(Duration::millis(1), [&] { log += "replaced"; });
  timer.start(Duration::millis(2), [&] { log += "second"; });
  EXPECT_TRUE(timer.active());
  Timer cancelled(loop());
  cancelled.start(Duration::millis(1), [&] { log += "cancelled"; });
  cancelled.cancel();
  {
    Timer destroyed(loop());
    destroyed.start(Duration(), [&] { log += "destroyed"; });
  }
  ASSERT_TRUE(wait(loop().sleep(Duration::millis(20))).ok());
  EXPECT_EQ(log, "second");
  EXPECT_FALSE(timer.active());
}

TEST_F(EventLoopTest, ACancelledTimerThatIsDueDoesNotRun) {
  bool ran = false;
  Timer timer(loop());
  timer.start(Duration(), [&] { ran = true; });
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  loop().post([&] { timer.cancel(); });
  settle();
  // Either order is right, but never a run after the cancel: ran tells the order here.
  bool before = ran;
  settle();
  EXPECT_EQ(ran, before);
}

TEST_F(EventLoopTest, ATimerMayRestartAndDestroyItself) {
  int rounds = 0;
  auto timer = std::make_unique<Timer>(loop());
  std::function<void()> tick = [&] {
    if (++rounds < 3) {
      timer->start(Duration::millis(1), tick);
    } else {
      timer.reset();
    }
  };
  timer->start(Duration::millis(1), tick);
  ASSERT_TRUE(wait(loop().sleep(Duration::millis(30))).ok());
  EXPECT_EQ(rounds, 3);
  EXPECT_EQ(timer, nullptr);
}

TEST_F(EventLoopTest, ReadableWaitsForBytesAndForTheEnd) {
  Pipe pipe;
  Timer timer(loop());
  timer.start(Duration::millis(3), [&] { ASSERT_EQ(::write(pipe.input.get(), "x", 1), 1); });
  ASSERT_TRUE(wait(loop().readable(pipe.output.get())).ok());
  char byte = 0;
  EXPECT_EQ(::read(pipe.output.get(), &byte, 1), 1);
  timer.start(Duration::millis(3), [&] { pipe.input.reset(); });
  ASSERT_TRUE(wait(loop().readable(pipe.output.get())).ok());
  EXPECT_EQ(::read(pipe.output.get(), &byte, 1), 0);
}

TEST_F(EventLoopTest, WritableComesAtOnceWhenThereIsRoom) {
  Pipe pipe;
  EXPECT_TRUE(wait(loop().writable(pipe.input.get())).ok());
}

TEST_F(EventLoopTest, AWaitForADescriptorIsCancelledAndTheDescriptorStaysOpen) {
  Pipe pipe;
  StopSource source;
  Timer timer(loop());
  timer.start(Duration::millis(2), [&] { source.stop(); });
  EXPECT_EQ(wait(loop().readable(pipe.output.get(), source.token())).error().code,
            Errc::kCancelled);
  EXPECT_EQ(::fcntl(pipe.output.get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write(pipe.input.get(), "x", 1), 1);
  EXPECT_TRUE(wait(loop().readable(pipe.output.get())).ok());
}

TEST_F(EventLoopTest, ABadDescriptorIsAnError) { EXPECT_FALSE(wait(loop().readable(-1)).ok()); }

TEST_F(EventLoopTest, SignalsArriveOnTheLoopAndMayBeReplaced) {
  std::string log;
  ASSERT_TRUE(loop().on_signal(SIGUSR1, [&] { log += "old"; }).ok());
  ASSERT_TRUE(loop()
                  .on_signal(SIGUSR1,
                             [&] {
                               log += "new";
                               if (log == "newnew")
                                 loop().stop();
                               else
                                 ::raise(SIGUSR1);
                             })
                  .ok());
  loop().post([] { ::raise(SIGUSR1); });
  loop().run();
  EXPECT_EQ(log, "newnew");
  EXPECT_FALSE(loop().on_signal(SIGKILL, [] {}).ok());
}

Async<void> fail_with(Errc code) { co_return Error(code, "planned"); }

TEST_F(EventLoopTest, ErrorsOfDetachedWorkReachTheSinkButCancellationDoesNot) {
  std::vector<Errc> seen;
  loop().on_detached_error([&](const Error& error) { seen.push_back(error.code); });
  Gate gate(loop());
  ASSERT_TRUE(loop().spawn(gate, fail_with(Errc::kIo)).ok());
  ASSERT_TRUE(loop().spawn(gate, fail_with(Errc::kCancelled)).ok());
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_EQ(seen, std::vector<Errc>{Errc::kIo});
}

TEST_F(EventLoopTest, RunningTwiceAtOnceEndsTheProcess) {
  EXPECT_DEATH(
      {
        loop().post([&] { loop().run(); });
        loop().run();
      },
      "runs already");
}

Async<void> note_twice(EventLoop& loop, std::vector<int>& order, int number) {
  order.push_back(number);
  CO_TRY(co_await loop.yield());
  order.push_back(number);
  co_return {};
}

TEST(EventLoopYield, LetsTheOthersRunFirst) {
  const std::unique_ptr<EventLoop> loop = MUST(EventLoop::create());
  std::vector<int> order;
  std::vector<Async<void>> all;
  all.push_back(note_twice(*loop, order, 1));
  all.push_back(note_twice(*loop, order, 2));
  MUST(loop->block_on(when_all(*loop, std::move(all))));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2}));
}

}  // namespace
}  // namespace runnel::async
