#include "async/turn_watch.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::async {
namespace {

class TurnWatchTest : public ::testing::Test {
 protected:
  void begin(Duration turn_max) {
    watch_ = MUST(TurnWatch::start(*loop_, turn_max, [this](Duration stood) {
      const std::scoped_lock lock(mutex_);
      told_.push_back(stood);
    }));
  }
  std::vector<Duration> told() {
    watch_.reset();
    return told_;
  }
  void pass(Duration time) { MUST(loop_->block_on(loop_->sleep(time))); }
  // In one turn of the loop.
  void stand(Duration time) {
    loop_->post([time] { std::this_thread::sleep_for(std::chrono::milliseconds(time.millis())); });
    pass(Duration::millis(30));
  }

  std::unique_ptr<EventLoop> loop_ = MUST(EventLoop::create());
  std::unique_ptr<TurnWatch> watch_;
  std::mutex mutex_;
  std::vector<Duration> told_;
};

TEST_F(TurnWatchTest, ACallThatBlocksIsToldOfOnce) {
  begin(Duration::millis(200));
  pass(Duration::millis(30));
  stand(Duration::millis(600));
  const std::vector<Duration> all = told();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GT(all[0], Duration::millis(400));
}

TEST_F(TurnWatchTest, ALoopThatRestsOrIsBusyStandsNowhere) {
  begin(Duration::millis(200));
  pass(Duration::millis(300));
  for (int turn = 0; turn < 40; ++turn) {
    loop_->post([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
  }
  pass(Duration::millis(30));
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace runnel::async
