#pragma once

#include <optional>

#include "cli/arguments.h"
#include "volume/disk_cache.h"

namespace runnel::cli {

// What --cache and --cache-size name; none without --cache. kInvalid names the field.
Result<std::optional<volume::DiskCache::Options>> cache_of(const Arguments& arguments);

}  // namespace runnel::cli
