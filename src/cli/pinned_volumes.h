#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "home/home.h"
#include "model/spec.h"

namespace runnel::cli {

// Puts the whole id of its version and the URL of its store into each volume that a job reads, as
// they are now: steps that name the same version read the same one. A line about each, for the
// user. kNotFound where there is no such volume or version; asks the stores, and blocks.
Result<std::vector<std::string>> pin_volumes(const home::Home& home, model::JobSpec& spec);

}  // namespace runnel::cli
