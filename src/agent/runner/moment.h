#pragma once

#include "base/units.h"

namespace runnel::agent {

// The runner's own clocks: the time of day, and the time since boot, suspended time included.
Time wall_now();
Duration boot_now();

}  // namespace runnel::agent
