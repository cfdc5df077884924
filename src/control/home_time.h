#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "env/clock.h"

namespace runnel::control {

// The time that a home's decisions go by while it has work: counted by the clock since boot, over
// the lives of its daemon. A time of day that is set while a daemon is away would otherwise let
// hours of a `max_duration` or of a price pass in a moment.

// Remembers in the file that it is `now`. A file that cannot be written is none.
void keep_time(const std::string& path, Time now, const env::Clock& clock);

// What keep_time() remembered, and what has passed since by the clock since boot; nothing when it
// was another boot, or there is no such file.
std::optional<Time> kept_time(const std::string& path, const env::Clock& clock);

}  // namespace runnel::control
