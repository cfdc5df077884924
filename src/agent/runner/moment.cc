#include "agent/runner/moment.h"

#include <time.h>

#include <algorithm>

namespace runnel::agent {
namespace {

std::int64_t millis_of(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace

// A clock that was never set may stand before the epoch, and the epoch itself means "never".
Time wall_now() { return Time::from_millis(std::max<std::int64_t>(1, millis_of(CLOCK_REALTIME))); }

Duration boot_now() { return Duration::millis(millis_of(CLOCK_BOOTTIME)); }

}  // namespace runnel::agent
