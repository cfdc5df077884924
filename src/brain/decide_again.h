#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "brain/brain.h"

namespace runnel::brain {

// Decides a stored input again: the events that it comes to now, as the log has them (the canonical
// list). kInvalid when the input is not understood.
Result<std::string> decide_again(Brain& brain, std::string_view input, Time now);

}  // namespace runnel::brain
