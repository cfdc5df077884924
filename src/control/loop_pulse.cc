#include "control/loop_pulse.h"

namespace runnel::control {

LoopPulse::LoopPulse(async::EventLoop& loop, env::Clock& clock)
    : loop_(loop), clock_(clock), next_(loop), looked_at_(clock.boot()) {
  next_.start(kLookEvery, [this] { look(); });
}

void LoopPulse::look() {
  const Duration now = clock_.boot();
  const Duration since = now - looked_at_;
  is_read_ = since <= kInTime;
  late_ = is_read_ || since > kBusy ? 0 : late_ + 1;
  looked_at_ = now;
  next_.start(kLookEvery, [this] { look(); });
}

Async<void> LoopPulse::until_read(async::StopToken stop) {
  while (!is_read()) CO_TRY(co_await loop_.sleep(kLookEvery, stop));
  co_return {};
}

}  // namespace runnel::control
