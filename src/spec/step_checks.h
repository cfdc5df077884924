#pragma once

#include <vector>

#include "model/spec.h"
#include "spec/job_file.h"
#include "spec/step_draft.h"

namespace runnel::spec {

// Checks that need a whole step or a whole job. Each reports what it finds.

// Every `{{name}}` of the step's script, variables and folders names something that will have a
// value: `{{best.STEP.name}}` needs a search that is over by then. After link_steps().
void check_templates(const Scope& scope, const std::vector<StepDraft>& drafts);

// Turns the names of `depends_on` into positions; unknown names and circles are faults.
void link_steps(const Scope& scope, std::vector<StepDraft>& drafts);

// Fills in `cpus` where none was given, and bounds the ranks of a gang.
void settle_resources(const Scope& scope, std::vector<StepDraft>& drafts);

// Whether the nodes of the context, all free, could hold the step. No check without nodes.
void check_capacity(const Scope& scope, const StepDraft& draft, const ParseContext& context);

}  // namespace runnel::spec
