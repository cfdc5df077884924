#include "cli/mount_request.h"

#include <functional>

#include "env/process.h"

namespace runnel::cli {

bool is_of_store(const std::string& variable) { return variable.starts_with(kStoreVariables); }

fuse::MountRequest mount_request(const std::string& volume, const std::string& version,
                                 const std::string& store,
                                 const std::optional<volume::DiskCache::Options>& cache) {
  fuse::MountRequest request;
  request.volume = volume;
  request.version = version;
  request.store = store;
  if (cache) {
    request.cache = cache->folder;
    request.cache_bytes = cache->bytes.count();
  }
  request.environment = env::environment();
  std::erase_if(request.environment, std::not_fn(is_of_store));
  return request;
}

}  // namespace runnel::cli
