#pragma once

#include <string>

#include "base/result.h"

namespace runnel::env {

// Takes the permission to write from a folder and all that is in it, for everybody. Links are left
// as they are. Who is root writes all the same.
Result<void> make_tree_read_only(const std::string& folder);

}  // namespace runnel::env
