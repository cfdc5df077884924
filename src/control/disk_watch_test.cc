#include "control/disk_watch.h"

#include <memory>

#include <gtest/gtest.h>

#include "env/testing/manual_clock.h"

namespace runnel::control {
namespace {

using Turn = DiskWatch::Turn;

class DiskWatchTest : public ::testing::Test {
 protected:
  void pass(std::int64_t seconds) { clock_.advance(Duration::seconds(seconds)); }
  std::optional<Duration> silent() const { return watch_.silent_for(); }

  env::testing::ManualClock clock_;
  DiskWatch watch_{clock_};
};

TEST_F(DiskWatchTest, OwesNothingWhileNothingIsAsked) {
  EXPECT_EQ(silent(), std::nullopt);
  pass(60);
  EXPECT_EQ(silent(), std::nullopt);
}

TEST_F(DiskWatchTest, IsSilentSinceItsFirstQuestion) {
  pass(60);
  const Turn first(watch_);
  pass(3);
  const Turn second(watch_);
  pass(2);
  EXPECT_EQ(silent(), Duration::seconds(5));
}

TEST_F(DiskWatchTest, IsNotSilentWhileItGetsOn) {
  auto first = std::make_unique<Turn>(watch_);
  const Turn second(watch_);
  pass(5);
  first.reset();
  EXPECT_EQ(silent(), Duration());
  pass(1);
  EXPECT_EQ(silent(), Duration::seconds(1)) << "the second waits since the first was answered";
}

TEST_F(DiskWatchTest, ForgetsASilenceThatIsOver) {
  {
    const Turn only(watch_);
  }
  pass(5);
  EXPECT_EQ(silent(), std::nullopt);
}

}  // namespace
}  // namespace runnel::control
