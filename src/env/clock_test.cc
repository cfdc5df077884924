#include "env/clock.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "env/testing/manual_clock.h"

namespace runnel::env {
namespace {

TEST(RealClock, AgreesWithTheSystem) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t expected = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  EXPECT_NEAR(static_cast<double>(real_clock().wall().millis()), static_cast<double>(expected),
              5000);
}

TEST(RealClock, BootTimeGoesOn) {
  const Duration before = real_clock().boot();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_GE(real_clock().boot() - before, Duration::millis(4));
  EXPECT_GT(before, Duration());
}

TEST(ManualClock, MovesOnlyWhenTold) {
  testing::ManualClock clock(Time::from_millis(1000));
  EXPECT_EQ(clock.wall(), Time::from_millis(1000));
  clock.advance(Duration::seconds(2));
  EXPECT_EQ(clock.wall(), Time::from_millis(3000));
  EXPECT_EQ(clock.boot(), Duration::seconds(2));
  clock.set_wall(Time::from_millis(7));
  EXPECT_EQ(clock.wall(), Time::from_millis(7));
  EXPECT_EQ(clock.boot(), Duration::seconds(2));
}

TEST(ManualClockDeathTest, TimeSinceBootNeverGoesBack) {
  testing::ManualClock clock;
  EXPECT_DEATH(clock.advance(Duration::millis(-1)), "never goes back");
}

}  // namespace
}  // namespace runnel::env
