#include "cli/cache_folder.h"

#include <string>

#include "env/files.h"
#include "home/paths.h"

namespace runnel::cli {
namespace {

constexpr const char* kCacheSize = "10GiB";

// Links followed as far as there is something: who names a cache in two ways means one.
std::string resolved(const std::string& path) {
  const std::size_t last = path.rfind('/');
  const Result<std::string> real = env::real_path(path);
  if (real.ok() || last == 0 || last == std::string::npos) return real.value_or(path);
  return resolved(path.substr(0, last)) + path.substr(last);
}

}  // namespace

Result<std::optional<volume::DiskCache::Options>> cache_of(const Arguments& arguments) {
  if (!arguments.cache && arguments.cache_size) {
    return Error(Errc::kInvalid, "a size is given of a cache, and no cache")
        .with_field("cache-size")
        .with_value(*arguments.cache_size)
        .with_hint("name its folder: --cache DIR");
  }
  if (!arguments.cache) return std::optional<volume::DiskCache::Options>();
  const Result<Bytes> bytes = parse_bytes(arguments.cache_size.value_or(kCacheSize));
  if (!bytes.ok()) return Error(bytes.error()).with_field("cache-size");
  return std::optional(
      volume::DiskCache::Options{resolved(TRY(home::absolute_path(*arguments.cache))), *bytes});
}

}  // namespace runnel::cli
