#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::home {

// The text of a file that the user named with `flag`. One that cannot be read, for whatever reason,
// is a fault of usage, and says what to look at.
Result<std::string> read_named_file(const std::string& flag, const std::string& path, Bytes limit);

}  // namespace runnel::home
