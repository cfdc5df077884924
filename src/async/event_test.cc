#include "async/event.h"

#include <string>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

class EventTest : public testing::EitherLoopTest {
 protected:
  void TearDown() override { ASSERT_TRUE(wait(gate_.close()).ok()); }
  void start(Async<void> work) { ASSERT_TRUE(loop().spawn(gate_, std::move(work)).ok()); }

  Gate gate_{loop()};
};

Async<void> wait_and_log(Notifier& notifier, std::string& log, std::string name, StopToken token) {
  Result<void> woken = co_await notifier.wait(token);
  log += name + (woken.ok() ? "+" : "-");
  co_return woken;
}

TEST_P(EventTest, NotifyOneWakesTheOldestAndNotifyAllTheRest) {
  Notifier notifier(loop());
  std::string log;
  for (const char* name : {"a", "b", "c"}) start(wait_and_log(notifier, log, name, {}));
  settle();
  EXPECT_EQ(log, "");
  notifier.notify_one();
  EXPECT_EQ(log, "") << "a waiter ran inside notify";
  settle();
  EXPECT_EQ(log, "a+");
  notifier.notify_all();
  settle();
  EXPECT_EQ(log, "a+b+c+");
  EXPECT_FALSE(notifier.has_waiters());
}

TEST_P(EventTest, ANotificationWithoutWaitersIsForgotten) {
  Notifier notifier(loop());
  notifier.notify_all();
  Result<Wake> woken = wait(notifier.wait_for(Duration::millis(5)));
  EXPECT_EQ(woken.value(), Wake::kTimeout);
}

TEST_P(EventTest, StopWakesAWaiterWithCancelled) {
  Notifier notifier(loop());
  StopSource source;
  std::string log;
  start(wait_and_log(notifier, log, "a", source.token()));
  start(wait_and_log(notifier, log, "b", {}));
  settle();
  source.stop();
  settle();
  EXPECT_EQ(log, "a-");
  notifier.notify_all();
  settle();
  EXPECT_EQ(log, "a-b+");
}

TEST_P(EventTest, ANotificationIsNotLostToALaterStop) {
  Notifier notifier(loop());
  StopSource source;
  std::string log;
  start(wait_and_log(notifier, log, "a", source.token()));
  settle();
  notifier.notify_one();
  source.stop();
  settle();
  EXPECT_EQ(log, "a+");
}

TEST_P(EventTest, AStoppedTokenDoesNotWaitAtAll) {
  Notifier notifier(loop());
  StopSource source;
  source.stop();
  EXPECT_EQ(wait(notifier.wait(source.token())).error().code, Errc::kCancelled);
  EXPECT_EQ(wait(notifier.wait_for(Duration::hours(1), source.token())).error().code,
            Errc::kCancelled);
}

TEST_P(EventTest, WaitForTellsNotificationFromTimeout) {
  Notifier notifier(loop());
  loop().post([&notifier] { notifier.notify_all(); });
  // The post above runs before the wait begins, so a timer notifies a second time.
  Timer timer(loop());
  timer.start(Duration::millis(5), [&notifier] { notifier.notify_all(); });
  EXPECT_EQ(wait(notifier.wait_for(Duration::hours(1))).value(), Wake::kNotified);
}

TEST_P(EventTest, ALatchStaysOpen) {
  Latch latch(loop());
  StopSource source;
  source.stop();
  EXPECT_EQ(wait(latch.wait(source.token())).error().code, Errc::kCancelled);
  latch.open();
  latch.open();
  EXPECT_TRUE(latch.is_open());
  EXPECT_TRUE(wait(latch.wait()).ok());
  EXPECT_TRUE(wait(latch.wait()).ok());
}

Async<void> sleep_and_count(EventLoop& loop, int& ended, Duration length) {
  Result<void> slept = co_await loop.sleep(length);
  ++ended;
  co_return slept;
}

TEST_P(EventTest, CloseWaitsForEveryoneInside) {
  Gate gate(loop());
  int ended = 0;
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(loop().spawn(gate, sleep_and_count(loop(), ended, Duration::millis(i * 3))).ok());
  }
  EXPECT_EQ(gate.inside(), 3);
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(gate.inside(), 0);
}

TEST_P(EventTest, AClosedGateRefusesAndStopsItsToken) {
  Gate gate(loop());
  StopToken token = gate.token();
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_TRUE(token.stopped());
  EXPECT_EQ(gate.enter().error().code, Errc::kCancelled);
  int ended = 0;
  EXPECT_FALSE(loop().spawn(gate, sleep_and_count(loop(), ended, Duration())).ok());
  settle();
  EXPECT_EQ(ended, 0) << "refused work was started";
  EXPECT_TRUE(wait(gate.close()).ok()) << "close() may be called again";
}

TEST_P(EventTest, AGateDestroyedWithWorkInsideEndsTheProcess) {
  EXPECT_DEATH(
      {
        Gate gate(loop());
        (void)gate.enter();
      },
      "await its close");
}

INSTANTIATE_TEST_SUITE_P(, EventTest, testing::on_both_grounds(), testing::ground_name);

}  // namespace
}  // namespace runnel::async
