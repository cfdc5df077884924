#include "env/testing/manual_clock.h"

#include "base/check.h"

namespace runnel::env::testing {

void ManualClock::advance(Duration step) {
  CHECK(step >= Duration(), "the time since boot never goes back");
  wall_.fetch_add(step.millis());
  boot_.fetch_add(step.millis());
}

}  // namespace runnel::env::testing
