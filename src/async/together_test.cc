#include "async/together.h"

#include <string>

#include <gtest/gtest.h>

#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

using TogetherTest = testing::EitherLoopTest;

Async<int> later(EventLoop& loop, Duration length, int value, StopToken token, std::string& log) {
  Result<void> slept = co_await loop.sleep(length, token);
  log += std::to_string(value) + (slept.ok() ? "+" : "-");
  CO_TRY(std::move(slept));
  co_return value;
}

Async<int> stubborn(EventLoop& loop, Duration length, bool& ended) {
  Result<void> slept = co_await loop.sleep(length);
  ended = true;
  CO_TRY(std::move(slept));
  co_return 0;
}

Async<int> fail(Errc code) { co_return Error(code, "planned"); }
Async<void> succeed() { co_return {}; }
Async<void> fail_void(Errc code) { co_return Error(code, "planned"); }

class RaceTest : public TogetherTest {
 protected:
  Stoppable<int> after(int millis, int value) {
    return [this, millis, value](StopToken token) {
      return later(loop(), Duration::millis(millis), value, std::move(token), log_);
    };
  }
  std::string log_;
};

TEST_P(RaceTest, TheFirstWinsAndTheOthersAreStopped) {
  Raced<int> raced = wait(race<int>(loop(), {after(3'600'000, 1), after(2, 2)})).value();
  EXPECT_EQ(raced.winner, 1u);
  EXPECT_EQ(raced.result.value(), 2);
  EXPECT_EQ(log_, "2+1-");
}

TEST_P(RaceTest, WaitsForALoserThatDoesNotListen) {
  bool ended = false;
  Stoppable<int> slow = [&](StopToken) { return stubborn(loop(), Duration::millis(15), ended); };
  Raced<int> raced = wait(race<int>(loop(), {slow, after(1, 7)})).value();
  EXPECT_EQ(raced.winner, 1u);
  EXPECT_TRUE(ended);
}

TEST_P(RaceTest, AnErrorWinsToo) {
  Stoppable<int> failing = [](StopToken) { return fail(Errc::kIo); };
  Raced<int> raced = wait(race<int>(loop(), {after(3'600'000, 1), failing})).value();
  EXPECT_EQ(raced.result.error().code, Errc::kIo);
}

TEST_P(RaceTest, TheParentStopsAll) {
  StopSource parent;
  Timer timer(loop());
  timer.start(Duration::millis(2), [&] { parent.stop(); });
  Raced<int> raced =
      wait(race<int>(loop(), {after(3'600'000, 1), after(3'600'000, 2)}, parent.token())).value();
  EXPECT_EQ(raced.result.error().code, Errc::kCancelled);
  EXPECT_EQ(log_, "1-2-");
}

TEST_P(RaceTest, WithTimeoutGivesTheResultOrTimesOut) {
  EXPECT_EQ(wait(with_timeout<int>(loop(), Duration::hours(1), after(1, 5))).value(), 5);
  Result<int> late = wait(with_timeout<int>(loop(), Duration::millis(5), after(3'600'000, 5)));
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  EXPECT_EQ(late.error().message, "no result within 5ms");
  EXPECT_EQ(log_, "5+5-");
}

TEST_P(RaceTest, WithTimeoutPassesAnErrorOn) {
  Stoppable<int> failing = [](StopToken) { return fail(Errc::kGone); };
  EXPECT_EQ(wait(with_timeout<int>(loop(), Duration::hours(1), failing)).error().code, Errc::kGone);
}

TEST_P(RaceTest, WhenAllKeepsTheOrderOfTheCall) {
  std::vector<Async<int>> works;
  works.push_back(later(loop(), Duration::millis(6), 1, {}, log_));
  works.push_back(later(loop(), Duration::millis(1), 2, {}, log_));
  EXPECT_EQ(wait(when_all(loop(), std::move(works))).value(), (std::vector<int>{1, 2}));
  EXPECT_EQ(log_, "2+1+");
}

TEST_P(RaceTest, WhenAllWaitsForAllBeforeItFails) {
  std::vector<Async<int>> works;
  works.push_back(fail(Errc::kIo));
  works.push_back(later(loop(), Duration::millis(5), 2, {}, log_));
  works.push_back(fail(Errc::kGone));
  EXPECT_EQ(wait(when_all(loop(), std::move(works))).error().code, Errc::kIo);
  EXPECT_EQ(log_, "2+");
}

TEST_P(RaceTest, WhenAllOfNothingAndOfVoid) {
  EXPECT_TRUE(wait(when_all(loop(), std::vector<Async<int>>())).value().empty());
  std::vector<Async<void>> works;
  works.push_back(succeed());
  works.push_back(fail_void(Errc::kFull));
  EXPECT_EQ(wait(when_all(loop(), std::move(works))).error().code, Errc::kFull);
}

Async<int> sum_of_race(EventLoop& loop, Stoppable<int> fast, Stoppable<int> slow) {
  std::vector<Stoppable<int>> runners;
  runners.push_back(std::move(fast));
  runners.push_back(std::move(slow));
  Result<Raced<int>> raced = co_await race<int>(loop, std::move(runners));
  Raced<int> outcome = CO_TRY(std::move(raced));
  co_return outcome.result;
}

TEST_P(RaceTest, RacesNestInsideEachOther) {
  std::vector<Async<int>> works;
  works.push_back(sum_of_race(loop(), after(1, 10), after(3'600'000, 0)));
  works.push_back(sum_of_race(loop(), after(3'600'000, 0), after(2, 20)));
  Stoppable<int> nested = [this](StopToken) {
    return sum_of_race(loop(), after(3, 30), after(3'600'000, 0));
  };
  works.push_back(with_timeout<int>(loop(), Duration::hours(1), nested));
  EXPECT_EQ(wait(when_all(loop(), std::move(works))).value(), (std::vector<int>{10, 20, 30}));
}

TEST_P(RaceTest, AStoppedParentLetsNothingWin) {
  StopSource parent;
  parent.stop();
  Result<int> stopped =
      wait(with_timeout<int>(loop(), Duration::hours(1), after(1, 5), parent.token()));
  EXPECT_EQ(stopped.error().code, Errc::kCancelled);
}

TEST_P(RaceTest, ARaceOfNobodyEndsTheProcess) {
  EXPECT_DEATH({ (void)wait(race<int>(loop(), {})); }, "needs a runner");
}

INSTANTIATE_TEST_SUITE_P(, RaceTest, testing::on_both_grounds(), testing::ground_name);

}  // namespace
}  // namespace runnel::async
