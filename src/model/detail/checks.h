#pragma once

#include "model/detail/site.h"
#include "model/fields.h"
#include "model/spec.h"

// The parts of check_spec(), each a file of its own. A site is that of the step.
namespace runnel::model::detail {

// check_step.cc: what it runs, where, under which policies, with which variables.
void check_step(const Site& at, const StepSpec& step);

// check_tasks.cc: parameters, samples and search, and that task_count says what follows from them.
void check_tasks(const Site& at, const StepSpec& step);

// check_templates.cc: every `{{name}}` of the step's script, variables and folders names something
// that will have a value; `{{best.STEP.name}}` a parameter of a search that is over by then.
void check_templates(const Site& at, const JobSpec& spec, const StepSpec& step);

// check_dependencies.cc: positions that are there, once each ...
void check_dependencies(const Site& at, const JobSpec& spec, const StepSpec& step);
// ... and, where they all are, no step that waits for itself. `at` is the site of a step.
using StepSite = Site (*)(const Site& job, const JobSpec& spec, std::size_t step);
void check_cycles(const Site& job, const JobSpec& spec, StepSite site_of);

}  // namespace runnel::model::detail
