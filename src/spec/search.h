#pragma once

#include "spec/step_draft.h"

namespace runnel::spec {

// `search`, after `params`: what the step's trials look for, and how. Sets the step's task_count.
void read_search(Scope& scope, const Item& item, StepDraft& draft);

}  // namespace runnel::spec
