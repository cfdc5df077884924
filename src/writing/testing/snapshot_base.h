#pragma once

#include "volume/manifest.h"
#include "volume/volume.h"
#include "writing/branch_files.h"

namespace runnel::writing::testing {

// A version of a volume as the base of a branch, whose bytes are read from the store each time.
//
// Lifetime: the volume outlives it.
BranchBase base_of(volume::Volume& volume, const volume::Manifest& manifest);

}  // namespace runnel::writing::testing
