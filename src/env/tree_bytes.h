#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace runnel::env {

// Bytes of all regular files in a folder, or of a file; none when it takes longer than `most` to
// know, or cannot be known.
std::optional<std::int64_t> tree_bytes(const std::string& path, Duration most);

}  // namespace runnel::env
