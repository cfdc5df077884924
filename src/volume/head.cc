#include "volume/head.h"

#include <algorithm>
#include <utility>

#include "json/read.h"
#include "model/fields.h"
#include "model/names.h"
#include "volume/digits.h"
#include "volume/manifest.h"
#include "volume/object_id.h"

namespace runnel::volume {

// A tag as it is stored.
struct StoredTag {
  std::string name;
  VersionPlace place;
};

// A clone as it is stored.
struct StoredClone {
  bool has_chunks = false;
  bool made = false;
  std::string name;
  std::string nonce;
  VersionPlace place;
};

struct StoredHead {
  std::vector<std::string> bases;
  std::vector<StoredClone> clones;
  std::int64_t collections = 0;
  std::string condemned;
  std::vector<std::string> features;
  std::int64_t format = kFormat;
  std::int64_t generation = 0;
  bool gone = false;
  std::optional<Lease> lease;
  bool made = false;
  std::string manifest;
  std::string manifest_sha256;
  std::int64_t min_reader = 1;
  std::int64_t min_writer = 1;
  std::string name;
  std::string nonce;
  std::string promise;
  std::vector<VersionPlace> recent;
  bool swept = false;
  std::vector<StoredTag> tags;
  std::string uuid;
};

}  // namespace runnel::volume

namespace runnel::model {

template <>
struct Fields<volume::VersionPlace> {
  static void visit(auto& visit, auto& place) {
    visit("generation", place.generation, Number{.min = 1});
    visit("key", place.key, Required());
    visit("version", place.version, Required());
  }
};

template <>
struct Fields<volume::StoredTag> {
  static void visit(auto& visit, auto& tag) {
    visit("name", tag.name, Required());
    visit("place", tag.place, Required());
  }
};

template <>
struct Fields<volume::StoredClone> {
  static void visit(auto& visit, auto& clone) {
    visit("has_chunks", clone.has_chunks);
    visit("made", clone.made);
    visit("name", clone.name, Required());
    visit("nonce", clone.nonce, Required());
    visit("place", clone.place, Required());
  }
};

template <>
struct Fields<volume::Lease> {
  static void visit(auto& visit, auto& lease) {
    visit("epoch", lease.epoch, Number{.min = 1});
    visit("session", lease.session);
  }
};

template <>
struct Fields<volume::StoredHead> {
  static void visit(auto& visit, auto& head) {
    visit("bases", head.bases);
    visit("clones", head.clones);
    visit("collections", head.collections, Number{.max = volume::Head::kCollectionsMax});
    visit("condemned", head.condemned);
    visit("features", head.features);
    visit("format", head.format, Required());
    visit("generation", head.generation, Required());
    visit("gone", head.gone);
    visit("lease", head.lease);
    visit("made", head.made);
    visit("manifest", head.manifest);
    visit("manifest_sha256", head.manifest_sha256);
    visit("min_reader", head.min_reader, Required());
    visit("min_writer", head.min_writer, Required());
    visit("name", head.name);
    visit("nonce", head.nonce, Required());
    visit("promise", head.promise);
    visit("recent", head.recent);
    visit("swept", head.swept);
    visit("tags", head.tags);
    visit("uuid", head.uuid, Required());
  }
};

}  // namespace runnel::model

namespace runnel::volume {
namespace {

Error no_head(const Error& why) {
  return Error(Errc::kCorrupt, "the head of the volume is damaged: " + why.to_string())
      .with_hint(
          "put back a copy of the object 'head' in the volume's place; without one nothing "
          "tells what its versions are: remove the place, and make the volume anew");
}

Error is_none(const std::string& text, const std::string& what) {
  return {Errc::kCorrupt, "'" + text.substr(0, 100) + "' is no " + what};
}

Error needs_later(const std::string& what, std::int64_t format) {
  return Error(Errc::kUnsupported, what + " this volume needs a build that knows format " +
                                       std::to_string(format) + "; this one knows " +
                                       std::to_string(kFormat))
      .with_value(std::to_string(format))
      .with_hint("use a newer build of runnel");
}

// Looked at before all else: a head with what this build does not know may have other members, too.
Result<void> check_features(const json::Value& head) {
  const json::Value* const min_reader = head.find("min_reader");
  const bool is_number = min_reader != nullptr && min_reader->is_int();
  if (is_number && min_reader->as_int() > kFormat) {
    return needs_later("to read", min_reader->as_int());
  }
  const json::Value* const features = head.find("features");
  if (features == nullptr || !features->is_list()) return {};
  for (const json::Value& each : features->as_list()) {
    const std::string feature = each.is_text() ? each.as_text() : "";
    if (feature == kLinkedObjects || feature == kClones || feature == kDeleted ||
        feature == kLeases || feature == kBranches) {
      continue;
    }
    return Error(Errc::kUnsupported,
                 "this build does not know the feature '" + feature + "' of the volume")
        .with_value(feature)
        .with_hint("use a newer build of runnel");
  }
  return {};
}

// Somebody else's may say anything: a version's id becomes part of the options of a mount, and what
// the keys name is read, or deleted, with the keys of whoever does so.
Result<void> check_places(const Head& head) {
  std::vector<const VersionPlace*> places;
  places.reserve(head.recent.size() + head.tags.size() + head.clones.size());
  for (const VersionPlace& place : head.recent) places.push_back(&place);
  for (const auto& [name, place] : head.tags) places.push_back(&place);
  for (const auto& [name, clone] : head.clones) places.push_back(&clone.place);
  for (const VersionPlace* place : places) {
    if (!is_version_id(place->version)) return no_head(is_none(place->version, "version"));
    if (!is_object_key(place->key, "v/")) return no_head(is_none(place->key, "manifest"));
  }
  for (const auto& [name, clone] : head.clones) {
    if (!model::is_volume_name(name)) return no_head(is_none(name, "volume"));
  }
  const std::string& holder = head.lease.session;
  if (!holder.empty() && !number_of(holder).ok()) return no_head(is_none(holder, "session"));
  const bool has_list = !head.condemned.empty();
  if (has_list && !is_object_key(head.condemned, "g/")) {
    return no_head(is_none(head.condemned, "list of garbage"));
  }
  return {};
}

}  // namespace

bool Head::has_feature(std::string_view feature) const {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

const VersionPlace* Head::find(std::string_view version) const {
  for (const VersionPlace& place : recent) {
    if (place.version == version) return &place;
  }
  for (const auto& [name, place] : tags) {
    if (place.version == version) return &place;
  }
  return nullptr;
}

bool Head::holds(std::string_view key) const {
  const auto is_it = [&](const VersionPlace& place) { return place.key == key; };
  return std::any_of(recent.begin(), recent.end(), is_it) ||
         std::any_of(tags.begin(), tags.end(), [&](const auto& tag) { return is_it(tag.second); });
}

Error was_dropped(const std::string& version) {
  return Error(Errc::kNotFound, "version " + version + " was dropped from the volume")
      .with_value(version);
}

Head with_lease(Head head, Lease lease) {
  const bool is_first = lease.epoch > 0 && !head.has_feature(kLeases);
  if (is_first) head.features.emplace_back(kLeases);
  head.lease = std::move(lease);
  return head;
}

std::string encode_head(const Head& head) {
  StoredHead record{.bases = head.bases,
                    .collections = head.collections,
                    .condemned = head.condemned,
                    .features = head.features,
                    .generation = head.generation,
                    .gone = head.is_gone,
                    .made = head.is_made,
                    .manifest = head.manifest,
                    .manifest_sha256 = head.manifest_sha256,
                    .min_reader = head.min_reader,
                    .min_writer = head.min_writer,
                    .name = head.own_name,
                    .nonce = head.nonce,
                    .promise = head.promise,
                    .recent = head.recent,
                    .swept = head.swept,
                    .uuid = head.uuid};
  if (head.lease.epoch > 0) record.lease = head.lease;
  for (const auto& [name, place] : head.tags) record.tags.push_back({name, place});
  for (const auto& [name, clone] : head.clones) {
    record.clones.push_back({clone.has_chunks, clone.is_made, name, clone.nonce, clone.place});
  }
  std::string text;
  json::Writer out(text);
  model::write_record(out, record);
  if (text.size() <= Head::kBytesMax || head.manifest.empty()) return text;
  Head shorter = head;
  shorter.manifest.clear();
  return encode_head(shorter);
}

Result<Head> decode_head(std::string_view text) {
  const Result<json::Value> json = json::parse(text);
  if (!json.ok()) return no_head(json.error());
  if (const auto later = later_format(*json)) return *later;
  TRY(check_features(*json));
  Result<StoredHead> record = model::read_record<StoredHead>(*json);
  if (!record.ok()) return no_head(record.error());
  Head head{.uuid = std::move(record->uuid),
            .nonce = std::move(record->nonce),
            .generation = record->generation,
            .min_reader = record->min_reader,
            .min_writer = record->min_writer,
            .features = std::move(record->features),
            .manifest_sha256 = std::move(record->manifest_sha256),
            .manifest = std::move(record->manifest),
            .recent = std::move(record->recent),
            .bases = std::move(record->bases),
            .own_name = std::move(record->name),
            .promise = std::move(record->promise),
            .is_made = record->made,
            .collections = record->collections,
            .condemned = std::move(record->condemned),
            .swept = record->swept,
            .is_gone = record->gone};
  if (record->lease) head.lease = *std::move(record->lease);
  for (StoredTag& tag : record->tags) head.tags.emplace(std::move(tag.name), std::move(tag.place));
  for (StoredClone& clone : record->clones) {
    head.clones.emplace(std::move(clone.name), Clone{std::move(clone.place), std::move(clone.nonce),
                                                     clone.made, clone.has_chunks});
  }
  TRY(check_places(head));
  return head;
}

bool is_named_head(std::string_view path) {
  return path.substr(path.rfind('/') + 1) == Head::kName;
}

Result<void> check_no_head(std::string_view bytes, const std::string& place) {
  const Result<Head> head = decode_head(bytes);
  const bool is_head = head.ok() ? !head->is_gone : head.error().code == Errc::kUnsupported;
  if (!is_head) return {};
  return Error(Errc::kConflict,
               place + " is the head of a volume, of which all versions would be lost")
      .with_value(place)
      .with_hint("choose another place");
}

Result<void> check_writable(const Head& head) {
  if (head.min_writer > kFormat) return needs_later("to write", head.min_writer);
  return {};
}

}  // namespace runnel::volume
