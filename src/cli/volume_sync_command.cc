#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "cli/kept_by_runnel.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "cli/volume_transfer.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "home/paths.h"
#include "home/synced_folders.h"
#include "volume/folder_difference.h"
#include "volume/folder_sink.h"
#include "volume/put_preview.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;
using Paths = std::vector<std::string>;

constexpr TransferWords kSyncWords = {"sync", "synced"};

json::Value paths_document(const Paths& paths) {
  json::Value::List all;
  for (const std::string& path : paths) all.push_back(json::Value::text(path));
  return json::Value::list(std::move(all));
}

// What would be done, a line each. `replaced`: what is there of what would be written.
int answer_dry_run(const Arguments& arguments, const Paths& removed, const Paths& written,
                   const Paths& replaced = {}) {
  const std::set<std::string> others(replaced.begin(), replaced.end());
  std::string text;
  for (const std::string& path : removed) text += "would remove " + printable(path) + "\n";
  for (const std::string& path : written) {
    text += others.contains(path) ? "would replace " : "would write ";
    text += printable(path) + "\n";
  }
  json::Value value = json::Value::object();
  value.set("removed", paths_document(removed));
  value.set("written", paths_document(written));
  value.set("replaced", paths_document(replaced));
  answer(arguments, value, text.empty() ? "nothing to do\n" : text);
  return 0;
}

// --- Into a volume.

Result<int> sync_in(const Arguments& arguments, const home::Home& home, const std::string& from,
                    const VolumeTarget& to) {
  if (TRY(env::file_info(TRY(env::real_path(from)))).kind != env::FileKind::kDirectory) {
    return Error(Errc::kInvalid, "sync takes folders, and " + from + " is none")
        .with_value(from)
        .with_hint("for one file: runnel volume cp");
  }
  TRY(refuse_version(to, "a sync"));
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.name));
  Volume opened = TRY(client->volume(to.name));
  if (arguments.dry_run) {
    Snapshot newest = TRY(client->run(opened.snapshot("latest")));
    const volume::PutPreview preview = TRY(client->run(volume::preview_mirror(
        client->loop(), newest, to.path, TRY(volume::SourceTree::open(from)), {})));
    return answer_dry_run(arguments, preview.removed, preview.put);
  }
  volume::PutOptions options;
  options.into = to.path;
  options.mirror = true;
  options.message = arguments.message.value_or("");
  const volume::PutResult made =
      TRY(put_local_and_tell(*client, opened, from, "", std::move(options), kSyncWords));
  answer(arguments, manifest_document(made.manifest), made.manifest.version + "\n");
  return 0;
}

// --- Into a folder of this machine.

// Nobody loses files by naming the wrong folder.
Error would_lose(const std::string& folder, const VolumeTarget& from, const std::string& uuid,
                 const volume::FolderDifference& difference) {
  const std::string source = from.path.empty() ? from.name : from.name + ":/" + from.path;
  const bool removes = !difference.surplus.empty();
  const Paths& lost = removes ? difference.surplus : difference.replaced;
  return Error(Errc::kConflict,
               folder + " was never synced with " + source + " (of the volume " + uuid +
                   "), and sync would " + (removes ? "remove " : "replace ") +
                   count_text(std::ssize(lost), "entry", "entries") +
                   (removes ? " of it that " + source + " does not have, as " : " of it, as ") +
                   printable(lost.front()))
      .with_value(folder)
      .with_hint("see all of it: --dry-run; to let it go: --delete");
}

Result<void> remove_surplus(const std::string& folder, const Paths& surplus) {
  CHECK(folder.starts_with('/'), "what is removed is below a folder that has a whole path");
  for (const std::string& path : surplus) TRY(check_keeps_nothing(folder + "/" + path));
  for (const std::string& path : surplus) {
    CHECK(!path.empty(), "the folder itself is never removed");
    CHECK(!path.starts_with('/'), "what is removed is below the folder");
    TRY(env::remove_tree(folder + "/" + path));
    say("removed " + printable(path));
  }
  return {};
}

struct SyncedFrom {
  std::string version;
  volume::FolderDifference difference;
};

Result<SyncedFrom> difference_of(VolumeClient& client, Volume& opened, const VolumeTarget& from,
                                 const std::string& place) {
  Snapshot snapshot = TRY(client.run(opened.snapshot(from.version_or_latest())));
  const Snapshot::Found found = TRY(client.run(snapshot.at(from.path)));
  if (found.node.kind != volume::NodeKind::kFolder) {
    return Error(Errc::kInvalid, "sync takes folders, and '" + from.path + "' is none")
        .with_value(from.path)
        .with_hint("for one file: runnel volume cp");
  }
  return SyncedFrom{
      snapshot.manifest().version,
      TRY(client.run(volume::compare_folder(client.loop(), snapshot, found.inode, place, {})))};
}

Result<int> sync_out(const Arguments& arguments, const home::Home& home, const VolumeTarget& from,
                     const std::string& to) {
  const VolumeClientPtr client = TRY(client_of(arguments, home, from.name));
  Volume opened = TRY(client->volume(from.name));
  const std::string given = TRY(home::absolute_path(to));
  const std::string place = env::exists(given) ? TRY(env::real_path(given)) : given;
  const SyncedFrom source = TRY(difference_of(*client, opened, from, place));
  const Paths& surplus = source.difference.surplus;
  const Paths& replaced = source.difference.replaced;
  if (arguments.dry_run) {
    return answer_dry_run(arguments, surplus, source.difference.missing, replaced);
  }
  const home::SyncSource synced{opened.head().uuid, from.path};
  const bool loses_nothing = surplus.empty() && replaced.empty();
  const bool may_lose =
      loses_nothing || arguments.remove || TRY(home::was_synced(home, place, synced));
  if (!may_lose) return would_lose(place, from, synced.uuid, source.difference);
  TRY(check_in_no_volume(place));
  TRY(env::make_directories(env::parent_of(place)));
  TRY(remove_surplus(place, surplus));
  const auto sink = TRY(
      volume::FolderSink::open(client->loop(), place, volume::FolderSink::Same::kBySizeAndTime));
  volume::GetOptions options;
  options.keeps_same = true;
  const volume::GetProgress got = TRY(get_and_tell(*client, opened, source.version, from.path,
                                                   *sink, std::move(options), kSyncWords));
  TRY(home::remember_synced(home, TRY(env::real_path(place)), synced));
  json::Value value = got_document(got);
  value.set("removed", paths_document(surplus));
  answer(arguments, value, "");
  return 0;
}

}  // namespace

Result<int> sync_folders(const Arguments& arguments, const home::Home& home) {
  const CopyEnd from = TRY(parse_copy_end(arguments.source));
  const CopyEnd to = TRY(parse_copy_end(arguments.target));
  if (from.target.has_value() == to.target.has_value()) {
    return Error(Errc::kInvalid,
                 "sync has a volume on one side and a folder of this machine on "
                 "the other")
        .with_hint("write the volume's side as NAME:/PATH; between volumes: runnel volume cp");
  }
  return to.target ? sync_in(arguments, home, from.local, *to.target)
                   : sync_out(arguments, home, *from.target, to.local);
}

}  // namespace runnel::cli
