#pragma once

#include "base/agenda.h"
#include "env/clock.h"

namespace runnel::sim {

// The clock of the daemon's machine: the time of day may be set, the time since boot goes on.
class DaemonClock final : public env::Clock {
 public:
  explicit DaemonClock(const Agenda& agenda) : agenda_(agenda), booted_(agenda.now()) {}

  Time wall() const override { return agenda_.now() + skew_; }
  Duration boot() const override { return agenda_.now() - booted_; }
  void jump(Duration by) { skew_ = skew_ + by; }

 private:
  const Agenda& agenda_;
  const Time booted_;
  Duration skew_;
};

}  // namespace runnel::sim
