#pragma once

#include <optional>

#include "base/ids.h"
#include "base/result.h"
#include "model/spec.h"

namespace runnel::model {

// Puts a step behind each that writes volumes, "NAME.publish", by which what its tasks wrote
// becomes one version of each volume: whoever depends on NAME depends on it. The positions of the
// others stay as they are. docs/design/job_writes.md.
//
// Errors: kInvalid when the job has more than kStepsMax steps then.
Result<void> add_publishing_steps(JobSpec& spec);

// The step whose version of a volume another one reads that says `latest`: of those that it depends
// on, directly or not, and that write the same volume, the last. None: there is none, and it reads
// what is the newest when the job is submitted. kInvalid where of two neither depends on the other.
Result<std::optional<StepIndex>> writer_before(const JobSpec& spec, StepIndex reader,
                                               const VolumeUse& use);

}  // namespace runnel::model
