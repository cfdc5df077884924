#pragma once

#include <string>
#include <vector>

#include "fuse/mount_point.h"

namespace runnel::cli {

// What a person should know before a folder is put that shows volumes, as a whole or somewhere in
// it: their files would be published as if they were the folder's own. One line for each mount, at
// most kMountsTold, and one that counts the others. `source`: by its path without links.
inline constexpr std::size_t kMountsTold = 10;
std::vector<std::string> warnings_of_mounts(const std::string& source,
                                            const std::vector<fuse::Mounted>& mounts);

}  // namespace runnel::cli
