#pragma once

#include "base/result.h"
#include "model/spec.h"

namespace runnel::model {

// Puts a step behind each that writes volumes, "NAME.publish", by which what its tasks wrote
// becomes one version of each volume: whoever depends on NAME depends on it. The positions of the
// others stay as they are. docs/design/job_writes.md.
//
// Errors: kInvalid when the job has more than kStepsMax steps then.
Result<void> add_publishing_steps(JobSpec& spec);

}  // namespace runnel::model
