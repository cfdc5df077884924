#pragma once

#include <cstdint>

#include "base/units.h"

namespace runnel::env {

// The time of day and the time since boot. One real implementation, one settable by tests.
//
// Contract: wall() may jump; boot() never goes back and counts suspended time (CLOCK_BOOTTIME).
//           Leases and durations use boot(), displays use wall().
// Threads:  any.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time wall() const = 0;
  virtual Duration boot() const = 0;
};

// Nanoseconds since 1970 by the machine's clock, for the times of files.
std::int64_t real_wall_nanos();

// The machine's clock. A process-wide constant without state.
Clock& real_clock();

}  // namespace runnel::env
