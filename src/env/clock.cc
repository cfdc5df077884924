#include "env/clock.h"

#include <time.h>

#include <algorithm>

#include "base/check.h"

namespace runnel::env {
namespace {

constexpr std::int64_t kNanosOfMilli = 1'000'000;

std::int64_t nanos_of(clockid_t id) {
  timespec now{};
  CHECK(clock_gettime(id, &now) == 0, "Linux has the realtime and the boottime clock");
  return std::int64_t{now.tv_sec} * 1000 * kNanosOfMilli + now.tv_nsec;
}

std::int64_t millis_of(clockid_t id) { return nanos_of(id) / kNanosOfMilli; }

class RealClock final : public Clock {
 public:
  // A clock that was never set may stand before the epoch, and the epoch itself means "never".
  Time wall() const override {
    return Time::from_millis(std::max<std::int64_t>(1, millis_of(CLOCK_REALTIME)));
  }
  Duration boot() const override { return Duration::millis(millis_of(CLOCK_BOOTTIME)); }
};

}  // namespace

std::int64_t real_wall_nanos() { return nanos_of(CLOCK_REALTIME); }

Clock& real_clock() {
  static RealClock clock;
  return clock;
}

}  // namespace runnel::env
