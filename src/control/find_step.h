#pragma once

#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "model/spec.h"

namespace runnel::control {

// The step that a parameter names: by its name, else by its position. A step that is called "0" is
// found by that name, wherever it stands.
Result<StepIndex> find_step(const model::JobSpec& spec, const std::string& text);

// The steps' names by position; none without a specification.
std::vector<std::string> names_in(const model::JobSpec* spec);

}  // namespace runnel::control
