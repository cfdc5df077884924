#pragma once

#include "base/units.h"

namespace runnel::home {

// Waits. Only for a person's command line, which has nothing else to do; services use timers.
void pause(Duration duration);

}  // namespace runnel::home
