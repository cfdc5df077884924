#pragma once

#include "base/result.h"
#include "model/spec.h"

namespace runnel::control {

// What a job file is refused for and a specification in JSON could still hold: names that are none,
// folders that lead out, references to nothing. kInvalid naming the field. Not part of
// model::check_spec(), which must go on reading what older homes have taken.
Result<void> check_submitted(const model::JobSpec& spec);

}  // namespace runnel::control
