#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fuse/mount_request.h"
#include "volume/disk_cache.h"

namespace runnel::cli {

// The variables by which a store is reached.
inline constexpr std::string_view kStoreVariables = "AWS_";
bool is_of_store(const std::string& variable);

// For a version and the cache of its mounts, with this shell's variables of the store.
fuse::MountRequest mount_request(const std::string& volume, const std::string& version,
                                 const std::string& store,
                                 const std::optional<volume::DiskCache::Options>& cache);

}  // namespace runnel::cli
