#include "volume/object_entry.h"

#include <vector>

#include "hash/xxh3.h"
#include "volume/snapshot.h"

namespace runnel::volume {

namespace {

// Stores tell whole seconds, and `sync` knows a file by its size and time: of two objects that were
// put in the same second the rest of the time tells which it is.
std::uint32_t nanos_of(const std::string& stamp) {
  constexpr std::uint64_t kNanos = 1'000'000'000;
  return static_cast<std::uint32_t>(hash::xxh3(stamp) % kNanos);
}

}  // namespace

bool is_mark_of_folder(const object::Listed& object) {
  return object.key.empty() && object.size == 0;
}

Error has_no_object(const std::string& store) {
  return Error(Errc::kNotFound, "there is no object below " + store)
      .with_value(store)
      .with_hint("name the prefix that objects are below: s3://BUCKET/PREFIX");
}

Result<ReadEntry> entry_of_object(const object::Listed& object, const std::string& store,
                                  Time now) {
  ReadEntry entry;
  const Result<std::vector<std::string>> path = path_parts(object.key);
  if (!path.ok() || path->empty() || object.key.starts_with('/')) {
    const std::string why = path.ok() ? "it begins with '/'" : path.error().message;
    return Error(Errc::kInvalid, "the object '" + object.key + "' of " + store +
                                     " cannot be a file of a volume: " + why)
        .with_value(object.key)
        .with_hint("give it another key, or import what is below another prefix");
  }
  entry.path = *path;
  const bool is_folder = object.key.ends_with('/') && object.size == 0;
  entry.node.kind = is_folder ? NodeKind::kFolder : NodeKind::kFile;
  entry.node.mode = is_folder ? 0755 : 0644;
  const Time changed = object.changed == Time() ? now : object.changed;
  entry.node.changed = changed.millis() / 1'000;
  entry.node.changed_nanos = nanos_of(object.stamp);
  entry.is_of_one_kind = true;
  return entry;
}

}  // namespace runnel::volume
