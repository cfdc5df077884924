#pragma once

#include <vector>

#include "model/spec.h"
#include "spec/job_file.h"
#include "spec/step_draft.h"

namespace runnel::spec {

// Checks that need a whole step or a whole job, and its file or its nodes. Each reports what it
// finds.

// Turns the names of `depends_on` into positions; unknown names and repeated ones are faults.
void link_steps(const Scope& scope, std::vector<StepDraft>& drafts);

// Fills in `cpus` where none was given.
void settle_resources(std::vector<StepDraft>& drafts);

// Whether the nodes of the context, all free, could hold the step. No check without nodes.
void check_capacity(const Scope& scope, const StepDraft& draft, const ParseContext& context);

}  // namespace runnel::spec
