#include "async/abandonable_call.h"

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>

#include <gtest/gtest.h>

namespace runnel::async {
namespace {

class AbandonableCalls : public ::testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop_ = MUST(EventLoop::create());
};

TEST_F(AbandonableCalls, TellTheLoopWhenTheyHaveReturned) {
  int value = 0;
  const AbandonableCall call = MUST(AbandonableCall::start(
      *loop_, "answers", [&value] { value = 7; }, [this] { loop_->stop(); }));
  loop_->run();
  EXPECT_EQ(value, 7);
}

TEST_F(AbandonableCalls, OneThatHangsIsLeftAloneAndNeverTold) {
  struct Held {
    std::binary_semaphore go{0};
    std::binary_semaphore gone{0};
  };
  const auto held = std::make_shared<Held>();
  bool told = false;
  {
    const AbandonableCall hangs = MUST(AbandonableCall::start(
        *loop_, "hangs",
        [held] {
          held->go.acquire();
          held->gone.release();
        },
        [&told] { told = true; }));
  }
  held->go.release();
  held->gone.acquire();
  (void)loop_->block_on(loop_->sleep(Duration::millis(5)));
  EXPECT_FALSE(told);
}

TEST_F(AbandonableCalls, TheEndMayDestroyTheCall) {
  std::optional<AbandonableCall> call;
  call.emplace(MUST(AbandonableCall::start(
      *loop_, "ends", [] {},
      [&] {
        call.reset();
        loop_->stop();
      })));
  loop_->run();
  EXPECT_FALSE(call.has_value());
}

TEST_F(AbandonableCalls, OneThatHangsHoldsUpNoOther) {
  const auto go = std::make_shared<std::binary_semaphore>(0);
  const auto slow_ended = std::make_shared<std::atomic<bool>>(false);
  const AbandonableCall slow = MUST(AbandonableCall::start(
      *loop_, "slow", [go] { go->acquire(); },
      [this, slow_ended] {
        *slow_ended = true;
        loop_->stop();
      }));
  const AbandonableCall quick =
      MUST(AbandonableCall::start(*loop_, "quick", [] {}, [this] { loop_->stop(); }));
  loop_->run();
  EXPECT_FALSE(*slow_ended);
  go->release();
  loop_->run();
  EXPECT_TRUE(*slow_ended);
}

TEST_F(AbandonableCalls, TellWhetherTheyGetOn) {
  const auto compute = std::make_shared<std::atomic<bool>>(true);
  const auto end = std::make_shared<std::binary_semaphore>(0);
  const auto hangs = std::make_shared<std::binary_semaphore>(0);
  const AbandonableCall call = MUST(AbandonableCall::start(
      *loop_, "computes",
      [compute, end, hangs] {
        while (*compute) {
        }
        hangs->release();
        end->acquire();
      },
      [this] { loop_->stop(); }));
  const auto later = [&] {
    (void)loop_->block_on(loop_->sleep(Duration::millis(20)));
    return call.processor_nanos();
  };
  const std::int64_t begun = later();
  std::int64_t now = begun;
  // Other processes may have the processors for a while.
  for (int looks = 0; looks < 1'000 && now == begun; ++looks) now = later();
  EXPECT_GT(now, begun);
  *compute = false;
  hangs->acquire();
  const std::int64_t hung = later();
  EXPECT_GT(hung, 0);
  EXPECT_EQ(later(), hung);
  end->release();
  loop_->run();
  EXPECT_EQ(call.processor_nanos(), 0);
}

TEST_F(AbandonableCalls, AnEndThatWaitsForItsTurnIsNotToldToWhoeverIsGone) {
  bool told = false;
  {
    const auto ran = std::make_shared<std::binary_semaphore>(0);
    const AbandonableCall call = MUST(AbandonableCall::start(
        *loop_, "quick", [ran] { ran->release(); }, [&told] { told = true; }));
    ran->acquire();
  }
  (void)loop_->block_on(loop_->sleep(Duration::millis(5)));
  EXPECT_FALSE(told);
}

}  // namespace
}  // namespace runnel::async
