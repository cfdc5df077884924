#pragma once

#include <string>

#include "base/result.h"

namespace runnel::env {

// Removes a folder, or a file, with all that is in it; fine when it is not there. Follows no link.
// Stays on the mount of `path`: what is mounted in it is somebody's, and is the error (kConflict,
// its value the place of the mount); then something of the rest may have been removed. Folders
// that their owner has closed to himself are opened for it. Any depth.
//
// Needs Linux 5.6 (openat2). Blocks; safe while others change the tree.
Result<void> remove_tree(const std::string& path);

}  // namespace runnel::env
