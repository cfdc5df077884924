#include "volume_server/request_of_process.h"

#include <functional>
#include <utility>

#include "env/process.h"

namespace runnel::volume_server {

bool is_of_store(const std::string& variable) { return variable.starts_with(kStoreVariables); }

std::vector<std::string> store_variables() {
  std::vector<std::string> variables = env::environment();
  std::erase_if(variables, std::not_fn(is_of_store));
  return variables;
}

MountRequest request_of_process(const std::string& volume, const std::string& version,
                                const std::string& store,
                                const std::optional<volume::DiskCache::Options>& cache,
                                std::vector<std::string> variables) {
  MountRequest request;
  request.volume = volume;
  request.version = version;
  request.store = store;
  if (cache) {
    request.cache = cache->folder;
    request.cache_bytes = cache->bytes.count();
  }
  request.environment = std::move(variables);
  return request;
}

}  // namespace runnel::volume_server
