#pragma once

#include <string>

#include "base/result.h"

namespace runnel::cli {

// What volumes and homes keep in folders of this machine is nobody's to remove with other files.
// Blocks; reads the names of all that is below, and follows no link.

// kConflict where a path, or what is below it, is a home, a store of volumes or a volume.
Result<void> check_keeps_nothing(const std::string& path);
// kConflict where a path is a volume's place, or lies in one.
Result<void> check_in_no_volume(const std::string& path);

}  // namespace runnel::cli
