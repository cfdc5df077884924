#include "control/home_time.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/machine.h"
#include "env/testing/manual_clock.h"
#include "env/testing/temporary_directory.h"

namespace runnel::control {
namespace {

class HomeTimeTest : public ::testing::Test {
 protected:
  env::testing::TemporaryDirectory folder_;
  env::testing::ManualClock clock_;
  std::string path_ = folder_.file("time.json");
  FileHomeTime time_{path_};
};

TEST_F(HomeTimeTest, GoesOnByTheClockSinceBoot) {
  const Time begun = clock_.wall() - Duration::seconds(40);
  time_.keep(begun, clock_);
  clock_.advance(Duration::seconds(90));
  clock_.set_wall(begun + Duration::seconds(1'000'000));
  EXPECT_EQ(time_.kept(clock_), begun + Duration::seconds(90));
}

TEST_F(HomeTimeTest, TheLastTimeCounts) {
  time_.keep(clock_.wall(), clock_);
  const Time later = clock_.wall() - Duration::seconds(5'000);
  time_.keep(later, clock_);
  EXPECT_EQ(time_.kept(clock_), later);
}

TEST_F(HomeTimeTest, WhatIsOfAnotherBootIsNothing) {
  clock_.advance(Duration::seconds(90));
  time_.keep(clock_.wall(), clock_);
  ASSERT_TRUE(time_.kept(clock_));
  EXPECT_EQ(time_.kept(env::testing::ManualClock()), std::nullopt) << "it ran backwards";
  std::string text = MUST(env::read_file(path_));
  const std::string id = MUST(env::boot_id());
  text.replace(text.find(id), id.size(), std::string(id.size(), 'x'));
  MUST(env::write_file_atomically(path_, text));
  EXPECT_EQ(time_.kept(clock_), std::nullopt);
}

TEST_F(HomeTimeTest, WhatIsMissingOrDamagedIsNothing) {
  EXPECT_EQ(time_.kept(clock_), std::nullopt);
  MUST(env::append_file(path_, "{\"boot\":"));
  EXPECT_EQ(time_.kept(clock_), std::nullopt);
  FileHomeTime nowhere("/nowhere/at/all");
  nowhere.keep(clock_.wall(), clock_);
  EXPECT_EQ(nowhere.kept(clock_), std::nullopt);
}

}  // namespace
}  // namespace runnel::control
