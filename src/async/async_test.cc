#include "async/async.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

using AsyncTest = testing::LoopTest;

Async<int> answer(int value) { co_return value; }
Async<int> refuse(std::string why) { co_return Error(Errc::kConflict, why); }
Async<int> relay(Result<int> result) { co_return result; }
Async<void> nothing() { co_return {}; }
Async<std::string> text_of_literal() { co_return "literal"; }
Async<std::vector<int>> empty_list() { co_return {}; }
Async<std::unique_ptr<int>> boxed(int value) { co_return std::make_unique<int>(value); }

Async<int> add(Async<int> left, Async<int> right) {
  Result<int> first = co_await std::move(left);
  int a = CO_TRY(std::move(first));
  Result<int> second = co_await std::move(right);
  int b = CO_TRY(std::move(second));
  co_return a + b;
}

TEST_F(AsyncTest, YieldsValuesErrorsAndResults) {
  EXPECT_EQ(wait(answer(7)).value(), 7);
  EXPECT_EQ(wait(refuse("busy")).error(), Error(Errc::kConflict, "busy"));
  EXPECT_EQ(wait(relay(3)).value(), 3);
  EXPECT_EQ(wait(relay(Error(Errc::kIo, "gone"))).error().code, Errc::kIo);
  EXPECT_TRUE(wait(nothing()).ok());
  EXPECT_EQ(wait(text_of_literal()).value(), "literal");
  EXPECT_TRUE(wait(empty_list()).value().empty());
}

TEST_F(AsyncTest, CarriesWhatCanOnlyBeMoved) { EXPECT_EQ(**wait(boxed(5)), 5); }

TEST_F(AsyncTest, CoTryPassesTheFirstErrorOn) {
  EXPECT_EQ(wait(add(answer(1), answer(2))).value(), 3);
  EXPECT_EQ(wait(add(answer(1), refuse("no"))).error().message, "no");
  EXPECT_EQ(wait(add(refuse("first"), refuse("second"))).error().message, "first");
}

Async<void> mark(std::shared_ptr<bool> started) {
  *started = true;
  co_return {};
}

TEST_F(AsyncTest, IsLazyAndMayBeDroppedUnstarted) {
  auto started = std::make_shared<bool>(false);
  {
    Async<void> work = mark(started);
    EXPECT_EQ(started.use_count(), 2);
  }
  EXPECT_FALSE(*started);
  EXPECT_EQ(started.use_count(), 1);
}

TEST_F(AsyncTest, FreesItsFrameWhenItEnds) {
  auto started = std::make_shared<bool>(false);
  ASSERT_TRUE(wait(mark(started)).ok());
  EXPECT_TRUE(*started);
  EXPECT_EQ(started.use_count(), 1);
}

TEST_F(AsyncTest, MoveAssignmentDropsTheFormerWork) {
  auto first = std::make_shared<bool>(false);
  Async<void> work = mark(first);
  work = nothing();
  EXPECT_EQ(first.use_count(), 1);
  EXPECT_TRUE(wait(std::move(work)).ok());
}

Async<std::int64_t> count_awaits(std::int64_t rounds) {
  std::int64_t sum = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    Result<int> one = co_await answer(1);
    sum += CO_TRY(std::move(one));
  }
  co_return sum;
}

TEST_F(AsyncTest, AwaitsThatEndAtOnceDoNotGrowTheStack) {
  EXPECT_EQ(wait(count_awaits(1'000'000)).value(), 1'000'000);
}

Async<int> nest(int depth) {
  if (depth == 0) co_return 0;
  Result<int> inner = co_await nest(depth - 1);
  int below = CO_TRY(std::move(inner));
  co_return below + 1;
}

TEST_F(AsyncTest, ReturnsThroughManyLevels) { EXPECT_EQ(wait(nest(10'000)).value(), 10'000); }

Async<void> throwing() {
  throw std::runtime_error("unexpected");
  co_return {};
}

TEST_F(AsyncTest, AnEscapingExceptionEndsTheProcess) {
  EXPECT_DEATH({ (void)wait(throwing()); }, "an exception escaped a coroutine: unexpected");
}

Async<int> await_moved_from(Async<int> work) {
  Async<int> taken = std::move(work);
  Result<int> first = co_await std::move(taken);
  CO_TRY(std::move(first));
  Result<int> again = co_await std::move(work);  // NOLINT: the misuse under test.
  co_return again;
}

TEST_F(AsyncTest, AwaitingWhatWasMovedAwayEndsTheProcess) {
  EXPECT_DEATH({ (void)wait(await_moved_from(answer(1))); }, "moved away");
}

Async<int> await_twice(Async<int> work) {
  Result<int> first = co_await std::move(work);
  CO_TRY(std::move(first));
  Result<int> second = co_await std::move(work);  // NOLINT: the misuse under test.
  co_return second;
}

TEST_F(AsyncTest, AwaitingTwiceEndsTheProcess) {
  EXPECT_DEATH({ (void)wait(await_twice(answer(1))); }, "awaited twice");
}

Async<void> sleep_long(EventLoop& loop) {
  Result<void> slept = co_await loop.sleep(Duration::hours(1));
  co_return slept;
}

TEST_F(AsyncTest, DroppingWorkThatRunsEndsTheProcess) {
  EXPECT_DEATH(
      {
        Async<void> work = sleep_long(loop());
        std::move(work).operator co_await().await_suspend(std::noop_coroutine()).resume();
      },
      "dropped while it ran");
}

Async<int> fail_late(EventLoop& loop, std::shared_ptr<int> held) {
  Result<void> slept = co_await loop.sleep(Duration::millis(1));
  CO_TRY(std::move(slept));
  co_return Error(Errc::kIo, std::to_string(held.use_count()));
}

TEST_F(AsyncTest, AnErrorAfterASuspensionFreesEverything) {
  auto held = std::make_shared<int>(1);
  EXPECT_EQ(wait(add(answer(1), fail_late(loop(), held))).error().message, "2");
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace runnel::async
