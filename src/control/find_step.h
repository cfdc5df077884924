#pragma once

#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "model/spec.h"

namespace runnel::control {

// The step that a parameter names: by its name, else by its position. A step that is called "0" is
// found by that name, wherever it stands.
Result<StepIndex> find_step(const model::JobSpec& spec, const std::string& text);

}  // namespace runnel::control
