#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/cost.h"

namespace runnel::home {

// Where the user's own table of prices lies: runnel/prices.yaml in $XDG_CONFIG_HOME, else in
// ~/.config.
std::string prices_path();

// The text of the table in force: the user's file, else the one that comes with this version.
Result<std::string> prices_text();

// The same, read.
Result<std::vector<model::InstanceType>> instance_types();

}  // namespace runnel::home
