#pragma once

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::control {

// Whether a process has read what came to it. One that stood still, as on a machine that was
// suspended, wakes with what came meanwhile unread, and with its timers due.
//
// Contract: what came longer than kLate ago has been read while is_read(). A loop that is late at
//           kLateMax looks in a row is busy, and reads between them.
// Threads:  the loop's only.
// Lifetime: loop and clock outlive it; nobody waits at destruction.
class LoopPulse {
 public:
  static constexpr Duration kLookEvery = Duration::millis(50);
  static constexpr Duration kLate = kLookEvery * 2;
  static constexpr int kLateMax = 10;

  LoopPulse(async::EventLoop& loop, env::Clock& clock);

  bool is_read() const {
    const bool is_busy = late_ >= kLateMax;
    return is_busy || (is_read_ && clock_.boot() - looked_at_ <= kLate);
  }
  Async<void> until_read(async::StopToken stop);

 private:
  void look();

  async::EventLoop& loop_;
  env::Clock& clock_;
  async::Timer next_;
  Duration looked_at_;
  bool is_read_ = false;  // As of the last look.
  int late_ = 0;          // Looks in a row.
};

}  // namespace runnel::control
