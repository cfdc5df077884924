#include "volume/volume.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "object/probe.h"
#include "volume/digits.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::int64_t kManifestBytesMax = 64 << 10;
constexpr std::size_t kVolumeNameMax = 63;

bool is_unknown(const Error& error) {
  return error.code == Errc::kUnavailable || error.code == Errc::kTimeout;
}

Error no_version(const std::string& volume, const std::string& version) {
  return Error(Errc::kNotFound, "volume " + volume + " has no version '" + version + "'")
      .with_value(version)
      .with_hint("see them all: runnel volume versions " + volume);
}

}  // namespace

Result<void> check_volume_name(std::string_view name) {
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  };
  const auto allowed = [&](char c) {
    return is_letter_or_digit(c) || c == '-' || c == '_' || c == '.';
  };
  const bool is_one = !name.empty() && name.size() <= kVolumeNameMax &&
                      is_letter_or_digit(name.front()) &&
                      std::all_of(name.begin(), name.end(), allowed);
  if (is_one) return {};
  return Error(Errc::kInvalid,
               "the name of a volume has 1 to 63 of a-z, 0-9, '-', '_' and '.', and "
               "begins with a letter or a digit")
      .with_field("volume")
      .with_value(std::string(name));
}

Volume::Volume(VolumeContext context, std::string name)
    : context_(std::move(context)),
      name_(std::move(name)),
      prefix_(name_ + "/"),
      pages_(std::make_unique<StorePages>(context_.store, prefix_, kPagesMemory, context_.stop)) {}

std::string Volume::nonce() { return digits_of(context_.random.next()); }

Async<Volume> Volume::create(VolumeContext context, std::string name) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(co_await object::probe_conditions(
      volume.context_.store, volume.prefix_ + "s/probe-" + volume.nonce(), volume.context_.stop));
  volume.head_.uuid = volume.nonce() + volume.nonce();
  volume.head_.nonce = volume.nonce();
  Result<std::string> put = co_await volume.context_.store.put(
      volume.prefix_ + "head", object::make_body(encode_head(volume.head_)),
      object::Condition::absent(), volume.context_.stop);
  if (!put.ok() && put.error().code == Errc::kPrecondition) {
    co_return Error(Errc::kConflict, "there is a volume " + volume.name_ + " already")
        .with_field("volume")
        .with_value(volume.name_)
        .with_hint("see its versions: runnel volume versions " + volume.name_);
  }
  volume.etag_ = CO_TRY(std::move(put));
  co_return volume;
}

Async<Volume> Volume::open(VolumeContext context, std::string name) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(co_await volume.load_head());
  co_return volume;
}

Async<void> Volume::refresh() { return load_head(); }

Async<void> Volume::load_head() {
  Result<object::Object> read = co_await context_.store.get(
      prefix_ + "head", static_cast<std::int64_t>(4 * Head::kBytesMax), context_.stop);
  if (!read.ok() && read.error().code == Errc::kNotFound) {
    co_return Error(Errc::kNotFound, "there is no volume " + name_ + " in " + context_.store.name())
        .with_field("volume")
        .with_value(name_)
        .with_hint("make it: runnel volume create " + name_ + "; see all: runnel volume list");
  }
  object::Object object = CO_TRY(std::move(read));
  head_ = CO_TRY(decode_head(object.bytes));
  etag_ = std::move(object.etag);
  co_return {};
}

// --- Versions.

Result<VersionPlace> Volume::place_of(const std::string& version) const {
  if (const auto tag = head_.tags.find(version); tag != head_.tags.end()) return tag->second;
  std::optional<VersionPlace> found;
  const auto look_at = [&](const VersionPlace& place) {
    const bool matches = !version.empty() && place.version.starts_with(version);
    const bool is_another = found && found->version != place.version;
    if (matches && is_another) return false;
    if (matches && !found) found = place;
    return true;
  };
  bool is_one = std::all_of(head_.recent.begin(), head_.recent.end(), look_at);
  for (const auto& [name, place] : head_.tags) is_one = look_at(place) && is_one;
  if (!is_one) {
    return Error(Errc::kInvalid, "several versions of " + name_ + " begin with '" + version + "'")
        .with_value(version)
        .with_hint("give more of the id: runnel volume versions " + name_);
  }
  if (!found) return no_version(name_, version);
  return *std::move(found);
}

Snapshot Volume::empty_snapshot() {
  Manifest manifest;
  manifest.uuid = head_.uuid;
  return {*pages_, std::move(manifest)};
}

Async<Snapshot> Volume::snapshot(std::string version) {
  if (version != "latest") {
    co_return Snapshot(*pages_, CO_TRY(co_await load_manifest(CO_TRY(place_of(version)))));
  }
  if (head_.newest() == nullptr) co_return empty_snapshot();
  co_return Snapshot(*pages_, CO_TRY(co_await load_manifest(*head_.newest())));
}

Async<Manifest> Volume::load_manifest(VersionPlace place) {
  std::string text;
  const bool is_newest = head_.newest() != nullptr && head_.newest()->key == place.key;
  if (is_newest && !head_.manifest.empty()) {
    text = head_.manifest;
  } else {
    text =
        CO_TRY(co_await context_.store.get(prefix_ + place.key, kManifestBytesMax, context_.stop))
            .bytes;
  }
  if (is_newest && hash::hex(hash::sha256(text)) != head_.manifest_sha256) {
    co_return Error(Errc::kCorrupt, "the manifest " + place.key + " is not the one of the head")
        .with_value(place.key);
  }
  Manifest manifest = CO_TRY(decode_manifest(text));
  if (manifest.uuid != head_.uuid) {
    co_return Error(Errc::kCorrupt, "the manifest " + place.key + " is another volume's")
        .with_value(place.key);
  }
  co_return manifest;
}

// --- Publishing.

ObjectId Volume::new_object_id(std::string_view bytes) {
  std::string random;
  append_u64be(random, context_.random.next());
  return ObjectId::of(bytes, random);
}

Async<void> Volume::put_object(std::string key, std::string bytes) {
  CO_TRY(co_await context_.store.put(prefix_ + key, object::make_body(std::move(bytes)),
                                     object::Condition::absent(), context_.stop));
  co_return {};
}

Async<Manifest> Volume::manifest_of(Snapshot& base, const Edit& edit, const NewChunks& chunks,
                                    std::int64_t packed, std::string message) {
  EditedIndex index = CO_TRY(co_await apply(base, context_.random, edit, chunks));
  if (index.tree == base.manifest().tree) co_return base.manifest();
  for (NewObject& bundle : index.bundles) {
    CO_TRY(co_await put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
  }
  Manifest manifest;
  manifest.uuid = head_.uuid;
  manifest.parent = base.manifest().version;
  manifest.parent_key = head_.newest() == nullptr ? "" : head_.newest()->key;
  manifest.time = context_.clock.wall();
  manifest.message = std::move(message);
  manifest.tree = index.tree;
  manifest.names = index.names;
  manifest.inodes = index.inodes;
  manifest.chunks = index.chunks;
  manifest.next_inode = index.next_inode;
  manifest.totals = index.totals;
  manifest.totals.packed = packed;
  manifest.version = version_id(manifest.parent, manifest.tree);
  co_return manifest;
}

Head Volume::next_head(const Manifest& manifest, const std::string& text, const std::string& key) {
  Head next = head_;
  ++next.generation;
  next.nonce = nonce();
  next.manifest_sha256 = hash::hex(hash::sha256(text));
  next.manifest = text.size() <= Head::kInlineMax ? text : "";
  next.recent.insert(next.recent.begin(), {manifest.version, key, next.generation});
  if (next.recent.size() > Head::kRecentMax) next.recent.resize(Head::kRecentMax);
  return next;
}

Async<Manifest> Volume::publish(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                                std::string message) {
  CO_TRY(check_writable(head_));
  for (int tries = 0; tries < kSwapsMax; ++tries) {
    Snapshot base = CO_TRY(co_await snapshot("latest"));
    Manifest manifest = CO_TRY(co_await manifest_of(base, edit, chunks, packed, message));
    if (manifest.tree == base.manifest().tree) co_return manifest;
    const std::string text = encode_manifest(manifest);
    const std::string key = manifest_key(manifest.version, nonce());
    CO_TRY(co_await put_object(key, text));
    const Swap swapped = CO_TRY(co_await swap(next_head(manifest, text, key)));
    if (swapped == Swap::kDone) co_return manifest;
  }
  co_return Error(Errc::kUnavailable,
                  "others publish versions of " + name_ + " faster than this one can")
      .with_value(name_)
      .with_hint("try again");
}

Async<Volume::Swap> Volume::swap(Head next) {
  const std::string text = encode_head(next);
  if (text.size() > Head::kBytesMax) {
    co_return Error(Errc::kFull, "the head of volume " + name_ + " is full")
        .with_hint("remove tags: runnel volume tag --delete");
  }
  while (true) {
    Result<std::string> put =
        co_await context_.store.put(prefix_ + "head", object::make_body(text),
                                    object::Condition::matches(etag_), context_.stop);
    if (put.ok()) {
      head_ = std::move(next);
      etag_ = *std::move(put);
      co_return Swap::kDone;
    }
    const bool is_lost = put.error().code == Errc::kPrecondition;
    if (!is_lost && !is_unknown(put.error())) co_return put.error();
    // A store that repeats a request by itself refuses the second one of a swap that was done.
    const std::string before = etag_;
    const Swap settled = CO_TRY(co_await settle(next));
    if (settled == Swap::kDone || is_lost || etag_ != before) co_return settled;
  }
}

// Whether the version is one of the head's now, whoever has published since.
Async<Volume::Swap> Volume::settle(const Head& next) {
  const std::string ours = next.newest()->key;
  const std::int64_t generation = next.generation;
  CO_TRY(co_await load_head());
  for (const VersionPlace& place : head_.recent) {
    if (place.key == ours) co_return Swap::kDone;
  }
  if (head_.generation - generation < static_cast<std::int64_t>(Head::kRecentMax)) {
    co_return Swap::kLost;
  }
  // So many have followed that the head has forgotten it: its ancestors have not.
  VersionPlace place = *head_.newest();
  while (!place.key.empty() && place.key != ours) {
    const Manifest manifest = CO_TRY(co_await load_manifest(place));
    place = {manifest.parent, manifest.parent_key, 0};
  }
  co_return place.key == ours ? Swap::kDone : Swap::kLost;
}

}  // namespace runnel::volume
