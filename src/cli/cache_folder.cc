#include "cli/cache_folder.h"

#include "home/paths.h"

namespace runnel::cli {

Result<std::optional<volume::DiskCache::Options>> cache_of(const Arguments& arguments) {
  if (!arguments.cache) return std::optional<volume::DiskCache::Options>();
  const Result<Bytes> bytes = parse_bytes(arguments.cache_size);
  if (!bytes.ok()) return Error(bytes.error()).with_field("cache-size");
  return std::optional(
      volume::DiskCache::Options{TRY(home::absolute_path(*arguments.cache)), *bytes});
}

}  // namespace runnel::cli
