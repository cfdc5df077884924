#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace runnel::cli {

using Envs = std::map<std::string, std::string>;

// The variables of --env-file and --env, the later winning: NAME=value, or NAME for its value in
// this shell. A fault in a file names its line.
Result<Envs> given_envs(const std::vector<std::string>& files,
                        const std::vector<std::string>& variables);

}  // namespace runnel::cli
