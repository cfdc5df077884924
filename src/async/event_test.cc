#include "async/event.h"

#include <string>

#include <gtest/gtest.h>

#include "async/channel.h"
#include "async/gate.h"
#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

class EventTest : public testing::LoopTest {
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

TEST_F(EventTest, NotifyOneWakesTheOldestAndNotifyAllTheRest) {
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

TEST_F(EventTest, ANotificationWithoutWaitersIsForgotten) {
  Notifier notifier(loop());
  notifier.notify_all();
  Result<Wake> woken = wait(notifier.wait_for(Duration::millis(5)));
  EXPECT_EQ(woken.value(), Wake::kTimeout);
}

TEST_F(EventTest, StopWakesAWaiterWithCancelled) {
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

TEST_F(EventTest, ANotificationIsNotLostToALaterStop) {
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

TEST_F(EventTest, AStoppedTokenDoesNotWaitAtAll) {
  Notifier notifier(loop());
  StopSource source;
  source.stop();
  EXPECT_EQ(wait(notifier.wait(source.token())).error().code, Errc::kCancelled);
  EXPECT_EQ(wait(notifier.wait_for(Duration::hours(1), source.token())).error().code,
            Errc::kCancelled);
}

TEST_F(EventTest, WaitForTellsNotificationFromTimeout) {
  Notifier notifier(loop());
  loop().post([&notifier] { notifier.notify_all(); });
  // The post above runs before the wait begins, so a timer notifies a second time.
  Timer timer(loop());
  timer.start(Duration::millis(5), [&notifier] { notifier.notify_all(); });
  EXPECT_EQ(wait(notifier.wait_for(Duration::hours(1))).value(), Wake::kNotified);
}

TEST_F(EventTest, ALatchStaysOpen) {
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

TEST_F(EventTest, CloseWaitsForEveryoneInside) {
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

TEST_F(EventTest, AClosedGateRefusesAndStopsItsToken) {
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

TEST_F(EventTest, AGateDestroyedWithWorkInsideEndsTheProcess) {
  EXPECT_DEATH(
      {
        Gate gate(loop());
        (void)gate.enter();
      },
      "await its close");
}

Async<void> produce(Channel<int>& channel, int count, int& sent) {
  for (int i = 0; i < count; ++i) {
    Result<void> done = co_await channel.send(i);
    CO_TRY(std::move(done));
    ++sent;
  }
  channel.close();
  co_return {};
}

Async<int> drain(Channel<int>& channel) {
  int sum = 0;
  while (true) {
    Result<std::optional<int>> received = co_await channel.receive();
    std::optional<int> item = CO_TRY(std::move(received));
    if (!item.has_value()) co_return sum;
    sum += *item;
  }
}

TEST_F(EventTest, AChannelHoldsItsSendersAtTheMaximum) {
  Channel<int> channel(loop(), 3);
  int sent = 0;
  start(produce(channel, 10, sent));
  settle();
  EXPECT_EQ(sent, 3);
  EXPECT_EQ(channel.size(), 3u);
  EXPECT_EQ(channel.try_send(99).error().code, Errc::kFull);
  EXPECT_EQ(wait(drain(channel)).value(), 45);
  EXPECT_EQ(sent, 10);
}

TEST_F(EventTest, AClosedChannelGivesWhatItHoldsAndTakesNothing) {
  Channel<int> channel(loop(), 4);
  ASSERT_TRUE(channel.try_send(1).ok());
  ASSERT_TRUE(channel.try_send(2).ok());
  channel.close();
  EXPECT_EQ(channel.try_send(3).error().code, Errc::kCancelled);
  EXPECT_EQ(wait(channel.send(3)).error().code, Errc::kCancelled);
  EXPECT_EQ(wait(channel.receive()).value(), 1);
  EXPECT_EQ(wait(channel.receive()).value(), 2);
  EXPECT_EQ(wait(channel.receive()).value(), std::nullopt);
}

TEST_F(EventTest, CloseWakesThoseWhoWait) {
  Channel<int> channel(loop(), 1);
  Timer timer(loop());
  timer.start(Duration::millis(2), [&channel] { channel.close(); });
  EXPECT_EQ(wait(channel.receive()).value(), std::nullopt);
}

TEST_F(EventTest, AStoppedReceiverTakesNothing) {
  Channel<int> channel(loop(), 1);
  StopSource source;
  Timer timer(loop());
  timer.start(Duration::millis(2), [&source] { source.stop(); });
  EXPECT_EQ(wait(channel.receive(source.token())).error().code, Errc::kCancelled);
  ASSERT_TRUE(channel.try_send(5).ok());
  EXPECT_EQ(wait(channel.receive()).value(), 5);
}

}  // namespace
}  // namespace runnel::async
