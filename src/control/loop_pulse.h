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
// Contract: what came longer than kLate ago has been read while is_read(); of a loop that is busy,
//           what came longer than kBusy ago. It is when kLateMax looks in a row were late, each by
//           no more than kBusy: it reads between them.
// Threads:  the loop's only.
// Lifetime: loop and clock outlive it; nobody waits at destruction.
class LoopPulse {
 public:
  static constexpr Duration kLookEvery = Duration::millis(50);
  static constexpr Duration kLate = kLookEvery * 2;
  // Between two looks, of which the later one is in time: what came meanwhile is read within kLate.
  static constexpr Duration kInTime = Duration::millis(75);
  static constexpr Duration kBusy = Duration::seconds(1);
  static constexpr int kLateMax = 10;

  LoopPulse(async::EventLoop& loop, env::Clock& clock);

  bool is_read() const {
    const Duration since = clock_.boot() - looked_at_;
    return late_ >= kLateMax ? since <= kBusy : is_read_ && since <= kLate;
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
