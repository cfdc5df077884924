#include <memory>
#include <utility>

#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_stream.h"
#include "cli/volume_target.h"
#include "cli/volume_transfer.h"
#include "env/clock.h"
#include "env/files.h"
#include "home/volume_places.h"
#include "volume/folder_sink.h"
#include "volume/link_source.h"
#include "volume/object_sink.h"
#include "volume/object_source.h"
#include "volume/tar_sink.h"
#include "volume/tar_source.h"

namespace runnel::cli {
namespace {

using volume::Snapshot;
using volume::Volume;

bool is_url(const std::string& place) { return place.find("://") != std::string::npos; }

// --- Export.

Result<int> export_objects(const Arguments& arguments, VolumeClient& client, Volume& opened,
                           const VolumeTarget& from, const std::string& only,
                           const object::StoreUrl& url) {
  const VolumeClientPtr target = TRY(client.beside(url, object::KeyRule::kBucket));
  volume::ObjectSink sink(client.loop(), target->context().store, only, {});
  const volume::GetProgress got = TRY(get_and_tell(client, opened, from.version_or_latest(),
                                                   from.path, sink, {}, {"export", "exported"}));
  if (!sink.left_out().empty()) {
    say("runnel: warning: left out " + count_text(std::ssize(sink.left_out()), "link", "links") +
        ", which objects cannot be, as " + printable(sink.left_out().front()));
  }
  return answer_got(arguments, url.to_string(), got);
}

Result<int> export_folder(const Arguments& arguments, VolumeClient& client, Volume& opened,
                          const VolumeTarget& from, const std::string& only,
                          const std::string& folder) {
  if (!only.empty()) TRY(env::make_directories(folder));
  const std::string place = only.empty() ? folder : folder + "/" + only;
  const auto sink =
      TRY(volume::FolderSink::open(client.loop(), place, volume::FolderSink::Same::kNever));
  const volume::GetProgress got = TRY(get_and_tell(client, opened, from.version_or_latest(),
                                                   from.path, *sink, {}, {"export", "exported"}));
  return answer_got(arguments, "file://" + place, got);
}

Result<int> export_tar(const Arguments& arguments, VolumeClient& client, Volume& opened,
                       const VolumeTarget& from, const std::string& only) {
  const std::string place = TRY(file_place(arguments.target));
  const auto sink = TRY(volume::TarSink::open(client.loop(), place, only));
  return answer_got(arguments, place,
                    TRY(get_and_tell(client, opened, from.version_or_latest(), from.path, *sink,
                                     whole_or_nothing(), {"export", "exported"})));
}

// The name of what is exported by itself; empty for a folder.
Result<std::string> only_name(VolumeClient& client, Volume& opened, const VolumeTarget& from) {
  Snapshot snapshot = TRY(client.run(opened.snapshot(from.version_or_latest())));
  const Snapshot::Found found = TRY(client.run(snapshot.at(from.path)));
  if (found.node.kind == volume::NodeKind::kFolder) return std::string();
  return TRY(volume::path_parts(from.path)).back();
}

// --- Import.

struct ImportSource {
  VolumeClientPtr store;  // Of objects.
  std::unique_ptr<volume::PutSource> source;
  std::string name;
};

Error not_linked(const std::string& given) {
  return Error(Errc::kInvalid, "'" + given + "' cannot be linked")
      .with_field("source")
      .with_value(given)
      .with_hint("link objects of a bucket, s3://BUCKET/PREFIX, or import without --link");
}

Result<ImportSource> objects_of(const object::StoreUrl& url, bool link, VolumeClient& client) {
  ImportSource made;
  made.name = url.to_string();
  made.store = TRY(client.beside(url, object::KeyRule::kBucket));
  object::ObjectStore& store = made.store->context().store;
  const Time now = env::real_clock().wall();
  if (link) {
    made.source = std::make_unique<volume::LinkSource>(store, made.name, now, async::StopToken());
  } else {
    made.source =
        std::make_unique<volume::ObjectSource>(client.loop(), store, now, async::StopToken());
  }
  return made;
}

Result<ImportSource> import_source(const std::string& given, bool link, VolumeClient& client) {
  if (link && !is_url(given)) return not_linked(given);
  ImportSource made;
  made.name = given;
  if (!is_url(given)) {
    made.name = TRY(file_place(given));
    made.source = std::make_unique<volume::TarSource>(TRY(volume::TarReader::open(given)));
    return made;
  }
  const object::StoreUrl url = TRY(object::parse_store_url(given));
  if (url.scheme == object::StoreUrl::Scheme::kS3) return objects_of(url, link, client);
  if (link) return not_linked(given);
  made.source = volume::source_of(TRY(volume::SourceTree::open(url.path)));
  return made;
}

}  // namespace

Result<int> export_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget from = TRY(parse_volume_target(arguments.source));
  TRY(refuse_document(arguments, arguments.target));
  const VolumeClientPtr client = TRY(client_of(arguments, home, from.name));
  Volume opened = TRY(client->volume(from.name));
  const std::string only = TRY(only_name(*client, opened, from));
  if (is_url(arguments.target)) {
    const object::StoreUrl url = TRY(object::parse_store_url(arguments.target));
    return url.scheme == object::StoreUrl::Scheme::kFile
               ? export_folder(arguments, *client, opened, from, only, url.path)
               : export_objects(arguments, *client, opened, from, only, url);
  }
  if (arguments.target != "-" && !arguments.target.ends_with(".tar")) {
    return Error(Errc::kInvalid, "'" + arguments.target + "' is no place of an export")
        .with_value(arguments.target)
        .with_hint("write FILE.tar, - (a tar on stdout), file:///DIR or s3://BUCKET/PREFIX");
  }
  return export_tar(arguments, *client, opened, from, only);
}

Result<int> import_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget to = TRY(parse_volume_target(arguments.target));
  TRY(refuse_version(to, "an import"));
  const VolumeClientPtr client = TRY(client_of(arguments, home, to.name));
  Volume opened = TRY(client->volume(to.name));
  ImportSource from = TRY(import_source(arguments.source, arguments.link, *client));
  volume::PutOptions options;
  options.source = from.name;
  options.into = to.path;
  options.mirror = arguments.mirror;
  options.message = arguments.message.value_or("");
  const volume::PutResult made = TRY(put_and_tell(
      *client,
      [&](volume::PutOptions all) {
        return volume::put_from(client->loop(), opened, std::move(from.source), std::move(all), {});
      },
      std::move(options), {"import", arguments.link ? "linked" : "imported"}));
  answer(arguments, manifest_document(made.manifest), made.manifest.version + "\n");
  return 0;
}

}  // namespace runnel::cli
