#pragma once

#include "base/result.h"
#include "model/spec.h"

namespace runnel::model::detail {

// Parameters, samples and search of a step, and that task_count says what follows from them.
Result<void> check_tasks(const StepSpec& step);

}  // namespace runnel::model::detail
