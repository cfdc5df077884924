#pragma once

#include <string>

#include "base/units.h"
#include "brain/state.h"

namespace runnel::sim {

// Time must not pass unnoticed: what was due `slack` ago has been looked at, so that a Wake at
// `now` would neither start such a retry nor withdraw tasks from such a lane. "" or what is late.
std::string check_nothing_overdue(const brain::State& state, Time now, Duration slack);

}  // namespace runnel::sim
