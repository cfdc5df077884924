#include "control/loop_pulse.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/virtual/process.h"
#include "base/agenda.h"
#include "env/testing/manual_clock.h"

namespace runnel::control {
namespace {

// A loop in virtual time, whose clock may go on while it stands still.
class LoopPulseTest : public ::testing::Test {
 protected:
  // Time goes on for the next look, and `more` has passed meanwhile.
  void look(Duration more = {}) {
    clock_.advance(LoopPulse::kLookEvery + more);
    bool is_there = false;
    const std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    agenda_.at(agenda_.now() + LoopPulse::kLookEvery, [&is_there] { is_there = true; }, last);
    while (!is_there) agenda_.step();
  }
  void stand_still() { clock_.advance(kStop); }

  static constexpr Duration kStop = LoopPulse::kLate + Duration::millis(1);

  Agenda agenda_;
  async::EventLoop loop_{std::make_unique<async::VirtualProcess>(
      agenda_, async::VirtualOptions{7, [](std::string_view) { return Duration(); }})};
  env::testing::ManualClock clock_;
  LoopPulse pulse_{loop_, clock_};
};

TEST_F(LoopPulseTest, WhatCameIsReadAfterALook) {
  EXPECT_FALSE(pulse_.is_read()) << "it may just have woken";
  look();
  EXPECT_TRUE(pulse_.is_read());
  look();
  EXPECT_TRUE(pulse_.is_read());
}

TEST_F(LoopPulseTest, AfterStandingStillItIsReadAfterALookThatIsInTime) {
  look();
  stand_still();
  EXPECT_FALSE(pulse_.is_read());
  look();
  EXPECT_FALSE(pulse_.is_read()) << "timers that were due run before what came is read";
  look();
  EXPECT_TRUE(pulse_.is_read());
}

// What came in 80 ms is read some time after the look.
TEST_F(LoopPulseTest, ALookThatIsSomewhatLateTellsNothing) {
  look();
  look(LoopPulse::kInTime - LoopPulse::kLookEvery + Duration::millis(1));
  EXPECT_FALSE(pulse_.is_read());
  look();
  EXPECT_TRUE(pulse_.is_read());
}

TEST_F(LoopPulseTest, ABusyLoopThatStandsStillReadsNothing) {
  for (int late = 0; late < LoopPulse::kLateMax; ++late) look(kStop);
  EXPECT_TRUE(pulse_.is_read());
  clock_.advance(LoopPulse::kBusy + Duration::millis(1));
  EXPECT_FALSE(pulse_.is_read());
  look();
  EXPECT_FALSE(pulse_.is_read());
  look();
  EXPECT_TRUE(pulse_.is_read());
}

TEST_F(LoopPulseTest, ABusyLoopReads) {
  for (int late = 1; late < LoopPulse::kLateMax; ++late) {
    look(kStop);
    EXPECT_FALSE(pulse_.is_read());
  }
  look(kStop);
  EXPECT_TRUE(pulse_.is_read()) << "though each look is late";
  look();
  EXPECT_TRUE(pulse_.is_read());
  stand_still();
  EXPECT_FALSE(pulse_.is_read());
}

TEST_F(LoopPulseTest, WhoWaitsGoesOnOnceItIsRead) {
  async::Gate gate(loop_);
  MUST(loop_.spawn(gate, pulse_.until_read({})));
  EXPECT_EQ(gate.inside(), 1);
  look(kStop);
  look();
  look();
  EXPECT_EQ(gate.inside(), 0);
}

}  // namespace
}  // namespace runnel::control
