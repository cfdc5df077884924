#pragma once

#include <string>

#include "base/result.h"

namespace runnel::env {

// Where something else stands that a folder at `path` needs to be a folder, itself or one above it:
// kInvalid, which names it. Links are followed; of what cannot be looked at nothing is said.
//
// Why: making the folder fails then for ever, with "File exists" or "Not a directory".
Result<void> refuse_obstacle(const std::string& path);

}  // namespace runnel::env
