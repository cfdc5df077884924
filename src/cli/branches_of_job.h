#pragma once

#include <string>

#include "base/result.h"
#include "cli/volume_client.h"
#include "model/spec.h"

namespace runnel::cli {

// Removes the branches whose names begin with "JOB." or "JOB.STEP.".
Result<void> remove_branches(VolumeClient& client, volume::Volume& volume,
                             const std::string& begins_with);

// Removes the branches of volumes that the tasks of a job have written and nobody has merged. Says
// so of volumes where they stay, since their store does not answer or this shell lacks the keys.
// Blocks.
void remove_branches_of(const std::string& job, const model::JobSpec& spec);

}  // namespace runnel::cli
