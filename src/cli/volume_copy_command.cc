#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "cli/volume_transfer.h"
#include "env/files.h"
#include "home/paths.h"
#include "home/volume_places.h"
#include "volume/copy_between.h"
#include "volume/folder_sink.h"
#include "volume/rearrange.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;

constexpr TransferWords kCopyWords = {"cp", "copied"};

int answer_made(const Arguments& arguments, const volume::Manifest& manifest,
                const std::string& path) {
  json::Value value = manifest_document(manifest);
  value.set("path", json::Value::text("/" + path));
  answer(arguments, value, manifest.version + "\n");
  return 0;
}

int answer_made(const Arguments& arguments, const volume::Rearranged& made) {
  return answer_made(arguments, made.manifest, made.path);
}

// --- Inside one volume.

Result<int> copy_inside(const Arguments& arguments, const home::Home& home,
                        const VolumeTarget& from, const VolumeTarget& to) {
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.name));
  Volume opened = TRY(client->volume(to.name));
  return answer_made(
      arguments,
      TRY(client->run(volume::copy_path(client->loop(), opened, from.version_or_latest(), from.path,
                                        to.path, arguments.message.value_or(""), {}))));
}

// --- From this machine, and to it.

// What a shell's cp calls it: a link keeps its own name, and "." is what the folder is called.
Result<std::string> name_of_local(const std::string& path) {
  const std::size_t end = path.find_last_not_of('/');
  std::string name = path.substr(0, end == std::string::npos ? 0 : end + 1);
  name = name.substr(name.rfind('/') + 1);
  if (!name.empty() && name != "." && name != "..") return name;
  const std::string real = TRY(env::real_path(path));
  return real.substr(real.rfind('/') + 1);
}

Result<int> copy_in(const Arguments& arguments, const home::Home& home, const std::string& from,
                    const VolumeTarget& to) {
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.name));
  Volume opened = TRY(client->volume(to.name));
  const bool is_folder = is_local_folder(TRY(env::real_path(from)));
  Snapshot newest = TRY(client->run(opened.snapshot("latest")));
  auto place = TRY(client->run(volume::place_in(newest, to.path, TRY(name_of_local(from)))));
  const std::string path = volume::path_text(place);
  std::string name;
  if (!is_folder && !place.empty()) {
    name = place.back();
    place.pop_back();
  }
  volume::PutOptions options;
  options.into = volume::path_text(place);
  options.message = arguments.message.value_or("");
  const volume::PutResult made =
      TRY(put_local_and_tell(*client, opened, from, name, std::move(options), kCopyWords));
  return answer_made(arguments, made.manifest, path);
}

// Where a shell's cp would put it.
Result<std::string> local_place(const std::string& to, const std::string& from) {
  const std::vector<std::string> parts = TRY(volume::path_parts(from));
  std::string place = TRY(home::absolute_path(to));
  if (to.ends_with('/')) TRY(env::make_directories(place));
  const bool is_into = is_local_folder(place) && !parts.empty();
  return is_into ? place + "/" + parts.back() : place;
}

Result<int> copy_out(const Arguments& arguments, const home::Home& home, const VolumeTarget& from,
                     const std::string& to) {
  const VolumeClientPtr client = TRY(client_of(arguments, home, from.name));
  Volume opened = TRY(client->volume(from.name));
  Snapshot snapshot = TRY(client->run(opened.snapshot(from.version_or_latest())));
  TRY(client->run(snapshot.at(from.path)));  // Before a folder is made for what is not there.
  const std::string place = TRY(local_place(to, from.path));
  const auto sink =
      TRY(volume::FolderSink::open(client->loop(), place, volume::FolderSink::Same::kNever));
  const volume::GetProgress got = TRY(
      get_and_tell(*client, opened, from.version_or_latest(), from.path, *sink, {}, kCopyWords));
  json::Value value = got_document(got);
  value.set("path", json::Value::text(place));
  answer(arguments, value, "");
  return 0;
}

// --- From one volume to another.

Result<int> copy_across(const Arguments& arguments, const home::Home& home,
                        const VolumeTarget& from, const VolumeTarget& to) {
  CHECK(from.name != to.name, "inside one volume no chunk is read");
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.name));
  Volume opened = TRY(client->volume(to.name));
  const object::StoreUrl other = TRY(home::place_of_volume(home, from.name, arguments.store));
  const VolumeClientPtr beside = TRY(client->beside(other));
  Volume source = TRY(beside->volume(from.name));
  Snapshot snapshot = TRY(client->run(source.snapshot(from.version_or_latest())));
  const bool is_folder =
      TRY(client->run(snapshot.at(from.path))).node.kind == volume::NodeKind::kFolder;
  const std::vector<std::string> parts = TRY(volume::path_parts(from.path));
  Snapshot newest = TRY(client->run(opened.snapshot("latest")));
  const std::string name = parts.empty() ? "" : parts.back();
  const auto place = TRY(client->run(volume::place_in(newest, to.path, name)));
  volume::PutOptions options;
  const std::string version = snapshot.manifest().version;
  options.source = other.to_string() + "/" + from.name + "@" + version + ":/" + from.path;
  options.into = volume::path_text(is_folder ? place : volume::parent_path(place));
  options.message = arguments.message.value_or("");
  const volume::PutResult made = TRY(put_and_tell(
      *client,
      [&](volume::PutOptions all) {
        return volume::copy_between(client->loop(), source, version, from.path,
                                    is_folder ? "" : place.back(), opened, std::move(all), {});
      },
      std::move(options), kCopyWords));
  return answer_made(arguments, made.manifest, volume::path_text(place));
}

}  // namespace

Result<int> copy_paths(const Arguments& arguments, const home::Home& home) {
  const CopyEnd from = TRY(parse_copy_end(arguments.source));
  const CopyEnd to = TRY(parse_copy_end(arguments.target));
  if (!from.target && !to.target) {
    return Error(Errc::kInvalid, "neither side of the copy is in a volume")
        .with_hint("write it as NAME:/PATH");
  }
  if (!to.target) return copy_out(arguments, home, *from.target, to.local);
  TRY(refuse_version(*to.target, "a copy"));
  if (!from.target) return copy_in(arguments, home, from.local, *to.target);
  const bool is_inside = from.target->name == to.target->name;
  return is_inside ? copy_inside(arguments, home, *from.target, *to.target)
                   : copy_across(arguments, home, *from.target, *to.target);
}

Result<int> move_paths(const Arguments& arguments, const home::Home& home) {
  const CopyEnd from = TRY(parse_copy_end(arguments.source));
  const CopyEnd to = TRY(parse_copy_end(arguments.target));
  if (!from.target || !to.target || from.target->name != to.target->name) {
    return Error(Errc::kInvalid, "mv renames inside one volume")
        .with_value(arguments.source)
        .with_hint("write both as NAME:/PATH, or copy it, and remove it then: runnel volume cp");
  }
  TRY(refuse_version(*from.target, "mv"));
  TRY(refuse_version(*to.target, "mv"));
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.target->name));
  Volume opened = TRY(client->volume(to.target->name));
  return answer_made(arguments,
                     TRY(client->run(volume::move_path(opened, from.target->path, to.target->path,
                                                       arguments.message.value_or("")))));
}

}  // namespace runnel::cli
