#include <set>
#include <utility>
#include <vector>

#include "cli/facts_text.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "home/volume_places.h"

namespace runnel::cli {
namespace {

using volume::Head;
using volume::Manifest;
using volume::Volume;

std::int64_t versions_kept(const Head& head) {
  std::set<std::string> versions;
  for (const volume::VersionPlace& place : head.recent) versions.insert(place.version);
  for (const auto& [name, place] : head.tags) versions.insert(place.version);
  return std::ssize(versions);
}

std::vector<std::string> clones_of(const Head& head) {
  std::vector<std::string> names;
  names.reserve(head.clones.size());
  for (const auto& [name, clone] : head.clones) names.push_back(name);
  return names;
}

json::Value shown_volume_document(const Volume& opened, const object::StoreUrl& place) {
  const Head& head = opened.head();
  json::Value tags = json::Value::object();
  for (const auto& [name, tagged] : head.tags) tags.set(name, json::Value::text(tagged.version));
  json::Value value = json::Value::object();
  value.set("name", json::Value::text(opened.name()));
  value.set("store", json::Value::text(place.to_string()));
  value.set("uuid", json::Value::text(head.uuid));
  value.set("format", json::Value::integer(volume::kFormat));
  value.set("min_reader", json::Value::integer(head.min_reader));
  value.set("min_writer", json::Value::integer(head.min_writer));
  if (head.newest() != nullptr) value.set("newest", json::Value::text(head.newest()->version));
  value.set("versions", json::Value::integer(versions_kept(head)));
  value.set("tags", std::move(tags));
  if (!head.bases.empty()) value.set("clone_of", json::Value::text(head.bases.front()));
  json::Value::List clones;
  for (const std::string& name : clones_of(head)) clones.push_back(json::Value::text(name));
  value.set("clones", json::Value::list(std::move(clones)));
  return value;
}

std::string shown_volume_text(const Volume& opened, const object::StoreUrl& place) {
  const Head& head = opened.head();
  std::string tags;
  for (const auto& [name, tagged] : head.tags) {
    tags += (tags.empty() ? "" : ", ") + name + " (" + tagged.version + ")";
  }
  return facts_text({{"volume", opened.name()},
                     {"store", place.to_string()},
                     {"uuid", head.uuid},
                     {"format", std::to_string(volume::kFormat)},
                     {"newest", head.newest_version()},
                     {"versions", std::to_string(versions_kept(head)) + " kept"},
                     {"tags", tags},
                     {"clone of", head.bases.empty() ? "" : head.bases.front()},
                     {"clones", joined(clones_of(head))}});
}

json::Value shown_version_document(const Volume& opened, const Manifest& manifest,
                                   const std::string& key) {
  json::Value::List tags;
  for (const std::string& tag : tags_of(opened.head(), manifest.version)) {
    tags.push_back(json::Value::text(tag));
  }
  json::Value value = manifest_document(manifest);
  value.set("volume", json::Value::text(opened.name()));
  value.set("manifest", json::Value::text(key));
  value.set("packed", json::Value::integer(manifest.totals.packed));
  value.set("tags", json::Value::list(std::move(tags)));
  return value;
}

std::string shown_version_text(const Volume& opened, const Manifest& manifest,
                               const std::string& key) {
  const volume::Totals& totals = manifest.totals;
  return facts_text({{"version", manifest.version},
                     {"volume", opened.name()},
                     {"parent", manifest.parent},
                     {"time", moment_text(rfc3339(manifest.time))},
                     {"message", manifest.message},
                     {"tags", joined(tags_of(opened.head(), manifest.version))},
                     {"tree", hash::hex(manifest.tree)},
                     {"manifest", key},
                     {"has", count_text(totals.files, "file", "files") + ", " +
                                 count_text(totals.folders, "folder", "folders") + ", " +
                                 count_text(totals.links, "link", "links") + ", " +
                                 human(Bytes::count(totals.bytes))},
                     {"stored", human(Bytes::count(totals.packed)) + " anew by its put"}});
}

}  // namespace

Result<int> show_volume(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  if (!target.path.empty()) {
    return Error(Errc::kInvalid, "show tells of a volume or of a version, not of a path")
        .with_value(arguments.volume)
        .with_hint("runnel volume ls -l " + arguments.volume);
  }
  const object::StoreUrl place = TRY(home::place_of_volume(home, target.name, arguments.store));
  const VolumeClientPtr client = TRY(VolumeClient::open(place));
  Volume opened = TRY(client->volume(target.name));
  if (target.version.empty()) {
    answer(arguments, shown_volume_document(opened, place), shown_volume_text(opened, place));
    return 0;
  }
  const volume::VersionPlace found = TRY(opened.place_of(target.version));
  const Manifest manifest = TRY(client->run(opened.manifest_at(found)));
  answer(arguments, shown_version_document(opened, manifest, found.key),
         shown_version_text(opened, manifest, found.key));
  return 0;
}

}  // namespace runnel::cli
