#pragma once

#include <string>

#include "model/spec.h"

namespace runnel::cli {

// Removes the branches of volumes that the tasks of a job have written and nobody has merged. Says
// so of volumes where they stay, since their store does not answer or this shell lacks the keys.
// Blocks.
void remove_branches_of(const std::string& job, const model::JobSpec& spec);

}  // namespace runnel::cli
