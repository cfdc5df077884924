#include "agent/log_watch.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

class LogWatchTest : public ::testing::Test {
 protected:
  LogWatchTest() {
    MUST(env::make_directories(home_));
    MUST(loop_->block_on(watch_.start()));
  }
  ~LogWatchTest() override { MUST(loop_->block_on(watch_.stop())); }

  void until_there(const std::string& path) {
    for (int look = 0; look < 2'000 && !env::exists(path); ++look) {
      (void)loop_->block_on(loop_->sleep(Duration::millis(5)));
    }
    ASSERT_TRUE(env::exists(path)) << path;
  }

  env::testing::TemporaryDirectory folder_;
  const std::string home_ = folder_.path() + "/home";
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  LogWatch watch_{*loop_, env::real_clock(), home_};
};

TEST_F(LogWatchTest, MakesTheFolderThatTheOutputWillLieIn) {
  watch_.watch(JobId("a"));
  until_there(output::logs_folder(home_, JobId("a")));
}

// A new home in its place would find files of a job that it does not know.
TEST_F(LogWatchTest, LeavesNothingWhereAHomeWasThatWasMovedAway) {
  const std::string aside = folder_.path() + "/aside";
  std::filesystem::rename(home_, aside);
  watch_.watch(JobId("a"));
  until_there(output::logs_folder(aside, JobId("a")));
  EXPECT_FALSE(env::exists(home_));
}

}  // namespace
}  // namespace runnel::agent
