#pragma once

#include <string>

#include "base/result.h"

namespace runnel::env {

// Takes the permission to write from a folder and all that is in it, for everybody: the folder
// first, so that one that has the permission has lost nothing yet. Links are left as they are.
// Who is root writes all the same.
Result<void> make_tree_read_only(const std::string& folder);
// Whether that was begun.
bool is_read_only_tree(const std::string& folder);

}  // namespace runnel::env
