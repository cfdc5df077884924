#include <utility>

#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "home/volume_places.h"
#include "volume/clone.h"
#include "volume/rearrange.h"
#include "volume/tag.h"

namespace runnel::cli {
Result<int> snapshot_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  if (!target.version.empty() || !target.path.empty()) {
    return Error(Errc::kInvalid, "a snapshot is of the whole newest version")
        .with_value(arguments.volume)
        .with_hint("for another version: runnel volume tag NAME@VERSION TAG");
  }
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  volume::Volume opened = TRY(client->volume(target.name));
  const std::string version = TRY(client->run(volume::take_snapshot(opened, arguments.target)));
  json::Value value = json::Value::object();
  value.set("tag", json::Value::text(arguments.target));
  value.set("version", json::Value::text(version));
  answer(arguments, value, version + "\n");
  return 0;
}

Result<int> clone_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget from = TRY(parse_volume_target(arguments.source));
  if (!from.path.empty()) {
    return Error(Errc::kInvalid, "a clone has a whole version")
        .with_value(arguments.source)
        .with_hint("a folder of it: runnel volume cp " + arguments.source + " NAME:/PATH");
  }
  const std::string name = TRY(parse_volume_name(arguments.target));
  const object::StoreUrl place = TRY(home::place_of_volume(home, from.name, arguments.store));
  TRY(prepare_for_volume(home, name, place));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  volume::Volume origin = TRY(client->volume(from.name));
  Result<volume::Volume> cloned =
      client->run(volume::clone_volume(client->context(), origin, from.version_or_latest(), name));
  const bool is_there = !cloned.ok() && cloned.error().code == Errc::kConflict;
  const bool is_made = is_there && client->volume(name).ok();
  if (is_made && !TRY(home::volume_places(home)).contains(name)) {
    return Error(cloned.error())
        .with_hint("this home does not know it: runnel volume create " + name + " --store " +
                   place.to_string());
  }
  const volume::Volume made = TRY(std::move(cloned));
  TRY(home::remember_volume(home, name, place));
  const std::string& version = made.head().newest()->version;
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(name));
  value.set("store", json::Value::text(place.to_string()));
  value.set("uuid", json::Value::text(made.head().uuid));
  value.set("clone_of", json::Value::text(from.name));
  value.set("version", json::Value::text(version));
  answer(arguments, value, version + "\n");
  return 0;
}

Result<int> restore_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget from = TRY(parse_volume_target(arguments.source));
  if (from.version.empty()) {
    return Error(Errc::kInvalid, "restore needs the version that something is to come back from")
        .with_value(arguments.source)
        .with_hint("write NAME@VERSION[:/PATH]; see them: runnel volume versions " + from.name);
  }
  const VolumeTarget to =
      arguments.target.empty() ? from : TRY(parse_volume_target(arguments.target));
  if (to.name != from.name) {
    return Error(Errc::kInvalid, "restore brings back into the same volume")
        .with_value(arguments.target)
        .with_hint("into another one: runnel volume cp " + arguments.source + " NAME:/PATH");
  }
  if (!arguments.target.empty()) TRY(refuse_version(to, "restore"));
  const VolumeClientPtr client = TRY(client_of(arguments, home, from.name));
  volume::Volume opened = TRY(client->volume(from.name));
  const volume::Rearranged made =
      TRY(client->run(volume::restore_path(client->loop(), opened, from.version, from.path, to.path,
                                           arguments.message.value_or(""), {})));
  json::Value value = manifest_document(made.manifest);
  value.set("path", json::Value::text("/" + made.path));
  answer(arguments, value, made.manifest.version + "\n");
  return 0;
}

}  // namespace runnel::cli
