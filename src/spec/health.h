#pragma once

#include <vector>

#include "spec/step_draft.h"

namespace runnel::spec {

// `health`: what is looked for in a step's ranks, and what comes of it.
void read_health(Scope& scope, const Item& item, StepDraft& draft);

// Settles what needs the rest of the step: its ranks, and what a restart may cost. After
// settle_resources().
void settle_health(std::vector<StepDraft>& drafts);

}  // namespace runnel::spec
