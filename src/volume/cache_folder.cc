#include "volume/cache_folder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "env/file_system.h"
#include "env/files.h"
#include "volume/cache_map.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kSegmentBegin = "segment-";
constexpr std::uint32_t kSegmentsMin = 2;  // One is filled while the other is read.

std::string format_text() { return "runnel cache " + std::to_string(CacheFolder::kFormat) + "\n"; }

std::optional<std::uint32_t> segment_number(std::string_view name) {
  if (!name.starts_with(kSegmentBegin)) return std::nullopt;
  name.remove_prefix(kSegmentBegin.size());
  std::uint32_t number = 0;
  const auto read = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_all = read.ec == std::errc() && read.ptr == name.data() + name.size();
  return is_all ? std::optional(number) : std::nullopt;
}

Error not_ours(const std::string& folder, const std::string& why, const char* hint) {
  return Error(Errc::kInvalid, "the cache " + folder + " " + why)
      .with_field("cache")
      .with_value(folder)
      .with_hint(hint);
}

// Whether this build may use what is in the folder.
Result<void> check_format(const std::string& folder) {
  const std::string file = folder + "/format";
  const Result<std::string> text = env::read_file(file);
  if (text.ok() && *text == format_text()) return {};
  if (text.ok()) {
    Error error = not_ours(folder, "is another build's, of another format",
                           "use another folder, or remove this one");
    error.code = Errc::kUnsupported;
    return error;
  }
  if (text.error().code != Errc::kNotFound) return text.error();
  for (const std::string& name : TRY(env::list_directory(folder))) {
    if (name == "lock") continue;
    if (env::exists(folder + "/" + name + "/format")) {
      return not_ours(folder, "has parts, as builds before this one made them: '" + name + "'",
                      "remove it, or use another folder: a cache is only a copy");
    }
    return not_ours(folder, "has files that are no cache's: '" + name + "'",
                    "use a folder of its own for the cache");
  }
  return env::write_file_atomically(file, format_text(), env::Access::kOwner);
}

Result<std::uint32_t> segments_of(const std::string& folder, Bytes bytes) {
  const auto count = static_cast<std::uint64_t>(bytes.count()) / CacheMap::kSegmentBytes;
  if (count >= kSegmentsMin) {
    return static_cast<std::uint32_t>(
        std::min<std::uint64_t>(count, std::numeric_limits<std::uint32_t>::max()));
  }
  const Bytes least = Bytes::count(kSegmentsMin * CacheMap::kSegmentBytes);
  return Error(Errc::kInvalid,
               "a cache of " + human(bytes) + " is too small: it takes at least " + human(least))
      .with_field("cache-size")
      .with_value(folder)
      .with_hint("--cache-size " + std::to_string(least.count() >> 20) + "MiB");
}

// In a mount of ours each read of the cache could wait for the cache; so could whoever looks, so
// that the folder is not touched.
Result<void> refuse_mounts(const std::string& folder) {
  const std::string mounts = TRY(env::read_file("/proc/self/mountinfo"));
  if (env::file_system_in(mounts, folder).name != "fuse.runnel") return {};
  return Error(Errc::kInvalid, "the cache " + folder + " lies in a mounted volume")
      .with_field("cache")
      .with_value(folder)
      .with_hint("use a folder on a local disk");
}

// No more than the disk could have, which what is kept in memory of a cache goes by.
std::uint32_t at_most_disk(const std::string& folder, std::uint32_t segments) {
  const Result<Bytes> disk = env::all_space(folder);
  if (!disk.ok()) return segments;
  const auto most = static_cast<std::uint64_t>(disk->count()) / CacheMap::kSegmentBytes;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most, kSegmentsMin, segments));
}

}  // namespace

CacheFolder::CacheFolder(std::string folder, env::FileLock lock, std::size_t segments)
    : folder_(std::move(folder)), lock_(std::move(lock)), files_(segments) {}

Result<std::unique_ptr<CacheFolder>> CacheFolder::open(const std::string& folder, Bytes bytes) {
  const std::uint32_t segments = TRY(segments_of(folder, bytes));
  TRY(refuse_mounts(folder));
  TRY(env::make_directories(folder, env::Access::kOwner));
  Result<env::FileLock> lock = env::FileLock::acquire(folder + "/lock");
  if (!lock.ok() && lock.error().code == Errc::kConflict) {
    return Error(Errc::kConflict, "another process uses the cache " + folder)
        .with_field("cache")
        .with_value(lock.error().value)
        .with_hint("use another folder with --cache");
  }
  env::FileLock held = TRY(std::move(lock));
  auto made = std::unique_ptr<CacheFolder>(
      new CacheFolder(folder, std::move(held), at_most_disk(folder, segments)));
  TRY(check_format(folder));
  TRY(made->open_segments());
  return made;
}

std::string CacheFolder::path_of(std::uint32_t segment) const {
  return folder_ + "/" + std::string(kSegmentBegin) + std::to_string(segment);
}

Result<void> CacheFolder::open_segments() {
  for (const std::string& name : TRY(env::list_directory(folder_))) {
    const auto number = segment_number(name);
    if (!number) continue;
    if (*number >= files_.size()) {
      TRY(env::remove_file(folder_ + "/" + name));
    } else {
      files_[*number] = TRY(env::DirectFile::open(folder_ + "/" + name));
    }
  }
  return {};
}

Result<void> CacheFolder::make(std::uint32_t segment) {
  env::DirectFile& file = files_[segment];
  if (!file.is_open()) file = TRY(env::DirectFile::create(path_of(segment)));
  return file.reserve(CacheMap::kSegmentBytes);
}

}  // namespace runnel::volume
