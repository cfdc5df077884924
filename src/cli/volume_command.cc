#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/moment_text.h"
#include "cli/mounts_in_source.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "cli/volume_transfer.h"
#include "env/files.h"
#include "home/paths.h"
#include "home/volume_places.h"
#include "volume/folder_sink.h"
#include "volume/put.h"
#include "volume/volume.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;

// --- Making and listing volumes.

Result<bool> is_known(const home::Home& home, const std::string& name,
                      const object::StoreUrl& place) {
  const home::VolumePlaces places = TRY(home::volume_places(home));
  const auto found = places.find(name);
  return found != places.end() && found->second == place;
}

// One that a colleague has made, or another home, becomes this home's, too; also where this home
// may only read it.
Result<Volume> made_or_found(VolumeClient& client, const home::Home& home, const std::string& name,
                             const object::StoreUrl& place) {
  Result<Volume> made = client.run(Volume::create(client.context(), name));
  const bool is_denied = !made.ok() && made.error().code == Errc::kDenied;
  const bool is_there = is_denied || (!made.ok() && made.error().code == Errc::kConflict);
  if (!is_there || TRY(is_known(home, name, place))) return made;
  Result<Volume> found = client.volume(name);
  if (found.ok()) say("runnel: volume " + name + " is there already; this home knows it now");
  if (is_denied && !found.ok()) return made;
  return found;
}

Result<int> create(const Arguments& arguments, const home::Home& home) {
  const std::string name = TRY(parse_volume_name(arguments.volume));
  const object::StoreUrl place = TRY(home::place_of_volume(home, name, arguments.store));
  TRY(prepare_for_volume(home, name, place));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  const Volume made = TRY(made_or_found(*client, home, name, place));
  TRY(home::remember_volume(home, name, place));
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(made.name()));
  value.set("store", json::Value::text(place.to_string()));
  value.set("uuid", json::Value::text(made.head().uuid));
  answer(arguments, value, made.name() + "\n");
  return 0;
}

// Newest first, then those that only a tag keeps.
std::vector<std::string> versions_of(const volume::Head& head) {
  std::vector<std::string> versions;
  const auto add = [&versions](const volume::VersionPlace& place) {
    if (std::ranges::find(versions, place.version) == versions.end())
      versions.push_back(place.version);
  };
  for (const volume::VersionPlace& place : head.recent) add(place);
  std::vector<volume::VersionPlace> tagged;
  tagged.reserve(head.tags.size());
  for (const auto& [name, place] : head.tags) tagged.push_back(place);
  std::ranges::sort(tagged, std::ranges::greater(), &volume::VersionPlace::generation);
  for (const volume::VersionPlace& place : tagged) add(place);
  return versions;
}

// What says nothing of other versions.
bool is_of_the_version(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound ||
         error.code == Errc::kInvalid;
}

json::Value unreadable_document(const std::string& version, const Error& error) {
  json::Value value = json::Value::object();
  value.set("version", json::Value::text(version));
  value.set("problem", json::Value::text(error.message));
  return value;
}

Result<int> versions(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  Table table({"VERSION", "TIME", "FILES", "SIZE", "TAGS", "MESSAGE"});
  json::Value::List all;
  std::string names;
  for (const std::string& version : versions_of(opened.head())) {
    const std::string tags = or_dash(joined(tags_of(opened.head(), version)));
    names += version + "\n";
    const Result<Snapshot> snapshot = client->run(opened.snapshot(version));
    if (!snapshot.ok() && is_of_the_version(snapshot.error())) {
      say("runnel: warning: version " + version + " cannot be read: " + snapshot.error().message);
      table.add({version, "?", "?", "?", tags, "?"});
      all.push_back(unreadable_document(version, snapshot.error()));
      continue;
    }
    if (!snapshot.ok()) return snapshot.error();
    const volume::Manifest& manifest = snapshot->manifest();
    table.add({version, moment_text(rfc3339(manifest.time)), std::to_string(manifest.totals.files),
               human(Bytes::count(manifest.totals.bytes)), tags, or_dash(manifest.message)});
    all.push_back(manifest_document(manifest));
  }
  json::Value value = json::Value::object();
  value.set("versions", json::Value::list(std::move(all)));
  answer(arguments, value, arguments.output == Output::kName ? names : table_text(table));
  return 0;
}

// --- Putting and getting.

Result<std::uint64_t> pack_size_of(const Arguments& arguments) {
  const Result<Bytes> size = parse_bytes(arguments.pack_size);
  if (!size.ok()) return Error(size.error()).with_field("pack-size");
  if (size->count() >= volume::PutOptions::kPackBytesMin &&
      size->count() <= volume::PutOptions::kPackBytesMax) {
    return static_cast<std::uint64_t>(size->count());
  }
  return Error(Errc::kInvalid, "a pack has 1 MiB to 128 MiB")
      .with_field("pack-size")
      .with_value(arguments.pack_size);
}

void warn_of_mounts(const std::string& source) {
  const Result<std::string> real = env::real_path(source);
  const Result<std::vector<fuse::Mounted>> mounts = fuse::mounts();
  if (real.ok() && mounts.ok()) say_all(warnings_of_mounts(*real, *mounts));
}

Result<int> put_folder(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.target));
  TRY(refuse_version(target, "a put"));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  warn_of_mounts(arguments.source);
  volume::PutOptions options;
  options.into = target.path;
  options.mirror = arguments.mirror;
  options.pack_bytes = TRY(pack_size_of(arguments));
  options.message = arguments.message.value_or("");
  const volume::PutResult result = TRY(put_local_and_tell(*client, opened, arguments.source, "",
                                                          std::move(options), {"put", "put"}));
  answer(arguments, manifest_document(result.manifest), result.manifest.version + "\n");
  return 0;
}

// A folder becomes the place itself; a file goes into a folder that is there.
Result<std::string> place_of_get(VolumeClient& client, Volume& opened, const VolumeTarget& from,
                                 const std::string& to) {
  std::string place = TRY(home::absolute_path(to));
  const bool is_meant_as_folder = to.ends_with('/');
  if (!is_local_folder(place) && !is_meant_as_folder) return place;
  Snapshot snapshot = TRY(client.run(opened.snapshot(from.version_or_latest())));
  const Snapshot::Found found = TRY(client.run(snapshot.at(from.path)));
  if (found.node.kind == volume::NodeKind::kFolder) return place;
  if (is_meant_as_folder) TRY(env::make_directories(place));
  return place + "/" + TRY(volume::path_parts(from.path)).back();
}

Result<int> get_folder(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.source));
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  const std::string place = TRY(place_of_get(*client, opened, target, arguments.target));
  const auto sink =
      TRY(volume::FolderSink::open(client->loop(), place, volume::FolderSink::Same::kNever));
  const volume::GetProgress got = TRY(get_and_tell(*client, opened, target.version_or_latest(),
                                                   target.path, *sink, {}, {"get", "got"}));
  answer(arguments, got_document(got), "");
  return 0;
}

// --- Removing.

// What goes from the newest version of a volume.
struct Removal {
  std::string name;
  std::set<std::vector<std::string>> paths;
};

Result<Removal> removal_of(const std::vector<std::string>& targets) {
  Removal removal;
  for (const std::string& given : targets) {
    const VolumeTarget target = TRY(parse_volume_target(given));
    std::vector<std::string> path = TRY(volume::path_parts(target.path));
    if (path.empty() || !target.version.empty()) {
      return Error(Errc::kInvalid, "rm needs the path of what is to go from the newest version")
          .with_value(given)
          .with_hint("runnel volume rm " + target.name + ":/PATH");
    }
    if (!removal.name.empty() && removal.name != target.name) {
      return Error(Errc::kInvalid, "one rm makes one version, of one volume")
          .with_value(given)
          .with_hint("remove from " + target.name + " by another rm");
    }
    removal.name = target.name;
    removal.paths.insert(std::move(path));
  }
  return removal;
}

bool is_below(const std::vector<std::string>& path, const std::vector<std::string>& folder) {
  return path.size() > folder.size() && std::equal(folder.begin(), folder.end(), path.begin());
}

Result<int> remove(const Arguments& arguments, const home::Home& home) {
  const Removal removal = TRY(removal_of(arguments.targets));
  const VolumeClientPtr client = TRY(client_of(arguments, home, removal.name));
  Volume opened = TRY(client->volume(removal.name));
  Snapshot snapshot = TRY(client->run(opened.snapshot("latest")));
  volume::Edit root = volume::Edit::folder();
  const std::vector<std::string>* last = nullptr;
  for (const std::vector<std::string>& path : removal.paths) {
    TRY(client->run(snapshot.at(volume::path_text(path))));  // A word for what is not there.
    if (last != nullptr && is_below(path, *last)) continue;
    const std::vector<std::string> folder(path.begin(), path.end() - 1);
    volume::folder_at(root, folder, opened.wall()).entries[path.back()].gone = true;
    last = &path;
  }
  const volume::Manifest manifest = TRY(client->run_freeing<volume::Manifest>(
      [&] { return opened.publish(root, {}, 0, arguments.message.value_or("")); }));
  answer(arguments, manifest_document(manifest), manifest.version + "\n");
  return 0;
}

Result<int> dispatch_volume(const Arguments& arguments, const home::Home& home) {
  switch (arguments.command) {
    case Command::kVolumeCreate: return create(arguments, home);
    case Command::kVolumeList: return list_volumes(arguments, home);
    case Command::kVolumeVersions: return versions(arguments, home);
    case Command::kVolumeShow: return show_volume(arguments, home);
    case Command::kVolumePut: return put_folder(arguments, home);
    case Command::kVolumeGet: return get_folder(arguments, home);
    case Command::kVolumeLs: return list_volume_folder(arguments, home);
    case Command::kVolumeCat: return print_volume_file(arguments, home);
    case Command::kVolumeCp: return copy_paths(arguments, home);
    case Command::kVolumeMv: return move_paths(arguments, home);
    case Command::kVolumeSync: return sync_folders(arguments, home);
    case Command::kVolumeSnapshot: return snapshot_volume(arguments, home);
    case Command::kVolumeClone: return clone_volume(arguments, home);
    case Command::kVolumeRestore: return restore_volume(arguments, home);
    case Command::kVolumeDump: return dump_volume(arguments, home);
    case Command::kVolumeLoad: return load_volume(arguments, home);
    case Command::kVolumeExport: return export_volume(arguments, home);
    case Command::kVolumeImport: return import_volume(arguments, home);
    case Command::kVolumeTag: return tag_volume(arguments, home);
    case Command::kVolumeDelete: return delete_volume(arguments, home);
    case Command::kVolumeForget: return forget_volume(arguments, home);
    case Command::kVolumeGc: return collect_volume(arguments, home);
    case Command::kVolumeStat: return tell_volume(arguments, home);
    case Command::kVolumeFsck: return check_volume(arguments, home);
    case Command::kVolumeBench: return bench_mount(arguments);
    case Command::kVolumeWarmup: return warm_volume_up(arguments, home);
    case Command::kVolumeMount: return mount_volume(arguments, home);
    case Command::kVolumeUmount: return unmount_volume(arguments, home);
    case Command::kVolumePublish: return publish_volume(arguments);
    case Command::kVolumeBranches: return tell_branches(arguments, home);
    case Command::kVolumeMerge: return merge_volume(arguments, home);
    case Command::kVolumeServe: return serve_volumes(home);
    default: return remove(arguments, home);
  }
}

}  // namespace

int volume_command(const Arguments& arguments, const home::Home& home) {
  const Result<int> code = dispatch_volume(arguments, home);
  return code.ok() ? *code : fail(code.error());
}

}  // namespace runnel::cli
