#include "volume/object_entry.h"

#include <vector>

#include "volume/snapshot.h"

namespace runnel::volume {

bool is_mark_of_folder(const object::Listed& object) {
  return object.key.empty() && object.size == 0;
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
  entry.node.changed_nanos = static_cast<std::uint32_t>(changed.millis() % 1'000 * 1'000'000);
  return entry;
}

}  // namespace runnel::volume
