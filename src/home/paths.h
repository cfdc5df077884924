#pragma once

#include <string>

#include "base/result.h"

namespace runnel::home {

// The path without "." and "..", from the current folder when it is relative. Follows no link.
Result<std::string> absolute_path(const std::string& path);

}  // namespace runnel::home
