#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "volume/disk_cache.h"
#include "volume_server/mount_request.h"

namespace runnel::volume_server {

// The variables by which a store is reached.
inline constexpr std::string_view kStoreVariables = "AWS_";
bool is_of_store(const std::string& variable);
// Those of this process, as "NAME=value". No other thread may change its environment meanwhile.
std::vector<std::string> store_variables();

// For a version and the cache that is to have it, with this process's variables of the store, which
// may have been taken before.
MountRequest request_of_process(const std::string& volume, const std::string& version,
                                const std::string& store,
                                const std::optional<volume::DiskCache::Options>& cache,
                                std::vector<std::string> variables = store_variables());

}  // namespace runnel::volume_server
