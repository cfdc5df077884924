#include "volume/volume.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/names.h"
#include "object/probe.h"
#include "volume/clone.h"
#include "volume/condemned.h"
#include "volume/digits.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::int64_t kManifestBytesMax = 64 << 10;

Error no_version(const std::string& volume, const std::string& version) {
  return Error(Errc::kNotFound, "volume " + volume + " has no version '" + version + "'")
      .with_value(version)
      .with_hint("see them all: runnel volume versions " + volume);
}

// Something in the volume that an edit cannot take the place of.
Error to_be_removed(Error error, const std::string& volume) {
  return error.with_hint("remove it first: runnel volume rm " + volume + ":/" + error.value);
}

// Whether the store keeps conditions. A gc that takes its owner for dead removes the probe, and
// then a store that keeps them seems to break them: what breaks them does so each time.
Async<void> probe_conditions(object::ObjectStore& store, env::Random& random, std::string sessions,
                             async::StopToken stop) {
  constexpr int kTriesMax = 3;
  for (int tries = 1;; ++tries) {
    const Result<void> probed = co_await object::probe_conditions(
        store, sessions + "probe-" + digits_of(random.next()), stop);
    const bool is_doubtful = !probed.ok() && (probed.error().code == Errc::kUnsupported ||
                                              probed.error().code == Errc::kNotFound);
    if (!is_doubtful || tries == kTriesMax) co_return probed;
  }
}

}  // namespace

Result<void> check_volume_name(std::string_view name) {
  if (model::is_volume_name(name)) return {};
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
      pages_(
          std::make_unique<StorePages>(context_.store, prefix_, *context_.memory, context_.stop)),
      head_(std::make_unique<HeadRegister>(context_.store, context_.random, name_, context_.stop)) {
}

Async<Volume> Volume::create(VolumeContext context, std::string name) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(co_await probe_conditions(volume.context_.store, volume.context_.random,
                                   volume.prefix_ + "s/", volume.context_.stop));
  CO_TRY(co_await volume.head_->check_not_lost());
  CO_TRY(co_await volume.head_->create());
  co_return volume;
}

Async<Volume> Volume::create_with(VolumeContext context, std::string name, Head first,
                                  object::Condition condition) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(co_await volume.head_->create_as(std::move(first), std::move(condition)));
  CO_TRY(co_await volume.open_clone());
  co_return volume;
}

Async<Volume> Volume::open(VolumeContext context, std::string name) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(co_await volume.head_->load());
  if (!volume.head().bases.empty()) CO_TRY(co_await volume.open_clone());
  co_return volume;
}

Async<Volume> Volume::open_seen(VolumeContext context, std::string name, SeenHead head) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  CO_TRY(volume.head_->take(head));
  if (!volume.head().bases.empty()) CO_TRY(co_await volume.open_clone());
  co_return volume;
}

// A clone that nobody keeps anything for can be deleted like any other.
Async<Volume> Volume::open_to_delete(VolumeContext context, std::string name) {
  CO_TRY(check_volume_name(name));
  Volume volume(std::move(context), std::move(name));
  volume.head_->see_deleted();
  CO_TRY(co_await volume.head_->load());
  if (!volume.head().bases.empty()) CO_TRY(volume.read_from_bases());
  co_return volume;
}

Result<void> Volume::read_from_bases() {
  const std::vector<std::string>& bases = head().bases;
  const bool are_names = std::all_of(bases.begin(), bases.end(), model::is_volume_name);
  if (!are_names || bases.empty() || bases.size() > Head::kBasesMax) {
    return Error(Errc::kCorrupt, "the head of the volume is damaged: what it was cloned from");
  }
  std::vector<std::string> prefixes{prefix_};
  for (const std::string& base : bases) prefixes.push_back(base + "/");
  layers_ = std::make_shared<LayeredStore>(context_.store, std::move(prefixes));
  pages_ = std::make_unique<StorePages>(*layers_, prefix_, *context_.memory, context_.stop);
  return {};
}

Async<void> Volume::open_clone() {
  const std::vector<std::string> bases = head().bases;
  CO_TRY(read_from_bases());
  if (head().own_name != name_) {
    co_return Error(Errc::kNotFound, "volume " + name_ + " is a copy of the clone " +
                                         head().own_name + ", for which nobody keeps what it reads")
        .with_field("volume")
        .with_value(name_)
        .with_hint("clone that one: runnel volume clone " + head().own_name + " NAME");
  }
  if (head().is_made) co_return {};
  HeadRegister origin(context_.store, context_.random, bases.front(), context_.stop);
  CO_TRY(co_await keep_promise(origin, bases.front(), name_, head().promise));
  Head next = head();
  next.is_made = true;
  const auto swapped = co_await head_->swap(std::move(next));
  const bool is_no_more = !swapped.ok() && (swapped.error().code == Errc::kNotFound ||
                                            swapped.error().code == Errc::kConflict);
  if (is_no_more) co_return swapped.error();
  // Else whoever opens it next looks again: one that may only read does so each time.
  co_return {};
}

RangeReader Volume::ranges() {
  if (layers_) return {layers_, prefix_, context_.others};
  return {context_.store, prefix_, context_.others};
}

object::ObjectStore& Volume::store() {
  if (layers_) return *layers_;
  return context_.store;
}

// --- Sessions.

HeldSession::Context Volume::session_context() {
  return {*head_, context_.store, context_.random, context_.processes, context_.stop};
}

Async<void> Volume::begin_writing(SessionRecord who) {
  CHECK(!session_, "a volume object has one session");
  session_.emplace(CO_TRY(co_await HeldSession::for_writing(session_context(), std::move(who))));
  co_return {};
}

Async<bool> Volume::go_on_writing(SessionRecord who) {
  CHECK(!session_, "a volume object has one session");
  session_ = CO_TRY(co_await HeldSession::for_going_on(session_context(), std::move(who)));
  co_return session_.has_value();
}

Async<Snapshot> Volume::begin_reading(SessionRecord who, std::string version) {
  CHECK(!session_, "a volume object has one session");
  if (version == "latest" && head().newest() == nullptr) co_return empty_snapshot();
  VersionPlace place = CO_TRY(place_of(version));
  const bool only_reads = !who.writes;
  Result<HeldSession> held =
      co_await HeldSession::for_reading(session_context(), std::move(who), place);
  // Unheld, a version is read until gc drops it. Who takes its files over would publish what is
  // gone.
  const bool cannot_hold = only_reads && !held.ok() &&
                           (held.error().code == Errc::kDenied || held.error().code == Errc::kFull);
  if (cannot_hold) {
    place = CO_TRY(place_of(place.version));  // It may have been packed anew since.
    unheld_ = place;
  } else {
    session_.emplace(CO_TRY(std::move(held)));
    place.key = session_->session().record().pin;
  }
  co_return Snapshot(*pages_, CO_TRY(co_await manifest_at(place)));
}

Async<std::optional<Snapshot>> Volume::go_on_reading(SessionRecord who, std::string version) {
  CHECK(!session_, "a volume object has one session");
  std::optional<Manifest> pinned;
  const auto is_wanted = [&](std::string pin) {
    return find_pinned({version, std::move(pin), 0}, pinned);
  };
  session_ =
      CO_TRY(co_await HeldSession::for_reading_on(session_context(), std::move(who), is_wanted));
  if (!session_) co_return std::optional<Snapshot>();
  co_return std::optional(Snapshot(*pages_, *std::move(pinned)));
}

// Whether the manifest there is of the version; then `into` is it.
Async<bool> Volume::find_pinned(VersionPlace place, std::optional<Manifest>& into) {
  Result<Manifest> manifest = co_await manifest_at({"", place.key, 0});
  if (!manifest.ok() && manifest.error().code == Errc::kNotFound) co_return false;
  into = CO_TRY(std::move(manifest));
  co_return into->version == place.version;
}

Async<bool> Volume::go_on_with_branch(SessionRecord who, SeenSession branch,
                                      Session::BranchHas has) {
  CHECK(!session_, "a volume object has one session");
  session_ = CO_TRY(co_await HeldSession::for_going_on_with(session_context(), std::move(who),
                                                            std::move(branch), has));
  co_return session_.has_value();
}

Async<void> Volume::become_branch() { return session_->become_branch(); }

Async<void> Volume::publish_in_branch(Manifest manifest, bool sealed) {
  const std::string key =
      manifest_key(manifest.version, digits_of(session_->session().nonces().next()));
  CO_TRY(co_await put_object(key, encode_manifest(manifest)));
  co_return co_await session_->move_branch(key, sealed);
}

Async<void> Volume::seal_branch() {
  const std::string pin = session_->session().record().pin;
  co_return co_await session_->move_branch(pin, true);
}

Async<void> Volume::keep_session(KeysInUse keys) {
  if (!session_) co_return {};
  co_return co_await session_->keep(std::move(keys));
}

Async<void> Volume::explain(Error error, KeysInUse keys) {
  if (error.code != Errc::kNotFound) co_return error;
  CO_TRY(co_await keep_session(std::move(keys)));
  if (unheld_) {
    CO_TRY(co_await head_->load());
    if (!head().holds(unheld_->key)) co_return was_dropped(unheld_->version);
  }
  co_return error;
}

Async<void> Volume::end_session() {
  if (!session_) co_return {};
  const Result<void> ended = has_branch() ? Result<void>() : co_await session_->end();
  leave_session();
  co_return ended;
}

void Volume::leave_session() {
  session_.reset();
  held_lease_.reset();
}

// --- Versions.

Result<VersionPlace> Volume::place_of(const std::string& version) const {
  if (version == "latest" && head().newest() != nullptr) return *head().newest();
  if (const auto tag = head().tags.find(version); tag != head().tags.end()) return tag->second;
  std::optional<VersionPlace> found;
  const auto look_at = [&](const VersionPlace& place) {
    const bool matches = !version.empty() && place.version.starts_with(version);
    const bool is_another = found && found->version != place.version;
    if (matches && is_another) return false;
    if (matches && !found) found = place;
    return true;
  };
  bool is_one = std::all_of(head().recent.begin(), head().recent.end(), look_at);
  for (const auto& [name, place] : head().tags) is_one = look_at(place) && is_one;
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
  manifest.uuid = head().uuid;
  return {*pages_, std::move(manifest)};
}

Async<Snapshot> Volume::snapshot(std::string version) {
  if (version != "latest") {
    co_return Snapshot(*pages_, CO_TRY(co_await manifest_at(CO_TRY(place_of(version)))));
  }
  if (head().newest() == nullptr) co_return empty_snapshot();
  co_return Snapshot(*pages_, CO_TRY(co_await manifest_at(*head().newest())));
}

Async<Snapshot> Volume::snapshot_by_id(std::string id) {
  if (id.empty()) co_return empty_snapshot();
  const VersionPlace* const place = head().find(id);
  if (place == nullptr) co_return no_version(name_, id);
  co_return Snapshot(*pages_, CO_TRY(co_await manifest_at(*place)));
}

// What a manifest says never changes.
Async<Manifest> Volume::manifest_at(VersionPlace place) {
  if (last_manifest_ && last_manifest_->first == place.key) co_return last_manifest_->second;
  Result<Manifest> manifest = co_await read_manifest(place);
  if (manifest.ok()) last_manifest_.emplace(place.key, *manifest);
  co_return manifest;
}

Async<Manifest> Volume::read_manifest(VersionPlace place) {
  const bool is_newest = head().newest() != nullptr && head().newest()->key == place.key;
  Result<Manifest> manifest =
      co_await manifest_of_text(place, is_newest ? head().manifest : std::string());
  // It may have been changed on its way; the store is asked once more.
  if (!manifest.ok() && manifest.error().code == Errc::kCorrupt) {
    manifest = co_await manifest_of_text(place, "");
  }
  co_return manifest;
}

// Whether it is still there is asked, too: one that was read before does not tell.
Async<Snapshot> Volume::pinned_snapshot(std::string key) {
  if (key.empty()) co_return empty_snapshot();
  co_return Snapshot(*pages_, CO_TRY(co_await manifest_at({"", key, 0})));
}

Async<std::optional<Manifest>> Volume::pinned_manifest(std::string key) {
  Result<Manifest> pinned = co_await read_manifest({"", key, 0});
  if (pinned.ok()) co_return std::optional(*std::move(pinned));
  if (pinned.error().code == Errc::kNotFound) co_return std::optional<Manifest>();
  co_return pinned.error();
}

Async<Manifest> Volume::manifest_of_text(VersionPlace place, std::string text) {
  const bool is_newest = head().newest() != nullptr && head().newest()->key == place.key;
  const std::string sha256 = head().manifest_sha256;  // A beat may read another head meanwhile.
  if (text.empty()) {
    text =
        CO_TRY(co_await context_.store.get(prefix_ + place.key, kManifestBytesMax, context_.stop))
            .bytes;
  }
  if (is_newest && hash::hex(hash::sha256(text)) != sha256) {
    co_return Error(Errc::kCorrupt, "the manifest " + place.key + " is not the one of the head")
        .with_value(place.key);
  }
  Manifest manifest = CO_TRY(decode_manifest(text));
  if (manifest.uuid != head().uuid) {
    co_return Error(Errc::kCorrupt, "the manifest " + place.key + " is another volume's")
        .with_value(place.key);
  }
  // Of what a session pins only the key is known.
  if (!place.version.empty() && manifest.version != place.version) {
    co_return Error(Errc::kCorrupt,
                    "the manifest " + place.key + " is of another version than " + place.version)
        .with_value(place.key);
  }
  co_return manifest;
}

// --- Publishing.

ObjectId Volume::new_object_id(std::string_view bytes) {
  CHECK(session_.has_value(), "who puts objects has a session");
  std::string nonce;
  append_u64be(nonce, session_->session().nonces().next());
  return ObjectId::of(bytes, nonce);
}

std::string Volume::new_list_key() {
  return condemned_key(digits_of(session_->session().nonces().next()));
}

Async<void> Volume::put_object(std::string key, std::string bytes) {
  CHECK(session_.has_value(), "who puts objects has a session");
  const Result<std::string> put =
      co_await context_.store.put(prefix_ + key, object::make_body(std::move(bytes)),
                                  object::Condition::absent(), context_.stop);
  // Put by a try whose answer was lost, and removed before the next one.
  const bool was_removed = !put.ok() && put.error().code == Errc::kNotFound;
  if (was_removed) co_return session_->session().is_lost();
  CO_TRY(Result<std::string>(put));
  co_return {};
}

Async<Manifest> Volume::manifest_of(Snapshot& base, const Edit& edit, const NewChunks& chunks,
                                    std::int64_t packed, std::string message) {
  Result<EditedIndex> edited = co_await apply(base, session_->session().nonces(), edit, chunks);
  const bool is_in_the_way = !edited.ok() && edited.error().code == Errc::kConflict;
  if (is_in_the_way) co_return to_be_removed(edited.error(), name_);
  EditedIndex index = CO_TRY(std::move(edited));
  const bool is_same = index.tree == base.manifest().tree;
  if (is_same && chunks.empty()) co_return base.manifest();
  co_return co_await put_index(base.manifest(), std::move(index), packed, std::move(message));
}

Async<Manifest> Volume::put_index(const Manifest& base, EditedIndex index, std::int64_t packed,
                                  std::string message) {
  for (NewObject& bundle : index.bundles) {
    CO_TRY(co_await put_object(bundle_key(bundle.id), std::move(bundle.bytes)));
  }
  Manifest manifest;
  if (index.tree == base.tree) {
    // Content that was damaged has come anew, or times have: the same version, at other places.
    manifest = base;
    manifest.names = index.names;
    manifest.inodes = index.inodes;
    manifest.chunks = index.chunks;
    manifest.next_inode = index.next_inode;
    // Two names of a file, and two files that are the same, are one tree.
    manifest.totals = index.totals;
    manifest.totals.packed = base.totals.packed;
    co_return manifest;
  }
  manifest.uuid = head().uuid;
  manifest.parent = base.version;
  const std::string newest = head().newest() == nullptr ? "" : head().newest()->key;
  manifest.parent_key = has_branch() ? session_->session().record().pin : newest;
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

Head Volume::next_head(const Manifest& manifest, const std::string& text, const std::string& key,
                       bool instead) {
  Head next = head();
  next.manifest_sha256 = hash::hex(hash::sha256(text));
  next.manifest = text.size() <= Head::kInlineMax ? text : "";
  const VersionPlace place{manifest.version, key, next.generation + 1};
  if (instead && !next.recent.empty()) {
    const std::string before = std::exchange(next.recent.front(), place).key;
    for (auto& [name, tagged] : next.tags) {
      if (tagged.key == before) tagged = place;
    }
    return next;
  }
  next.recent.insert(next.recent.begin(), place);
  if (next.recent.size() > Head::kRecentMax) next.recent.resize(Head::kRecentMax);
  return next;
}

namespace {

// The packs that an edit and its new chunks refer to.
void add_packs(const Edit& edit, std::set<std::string>& keys) {
  for (const Extent& extent : edit.node.extents) {
    if (extent.is_packed()) keys.insert(pack_key(extent.pack));
  }
  for (const auto& [name, entry] : edit.entries) add_packs(entry, keys);
}

bool has_links(const Edit& edit) {
  return is_linked(edit.node.extents) ||
         std::any_of(edit.entries.begin(), edit.entries.end(),
                     [](const auto& entry) { return has_links(entry.second); });
}

}  // namespace

// Before the version: who reads its head may know nothing of them.
Async<void> Volume::tell_of_links(const Edit& edit) {
  if (!has_links(edit)) co_return {};
  co_return co_await change_head([](const Head& head) -> Result<Head> {
    Head next = head;
    if (!head.may_have_links()) next.features.emplace_back(kLinkedObjects);
    return next;
  });
}

Async<Manifest> Volume::publish(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                                std::string message) {
  CO_TRY(check_writable(head()));
  CO_TRY(check_message(message));
  Publication publication{std::move(message), "", {}};
  co_return co_await publish_as(edit, chunks, packed, std::move(publication));
}

Async<Manifest> Volume::publish_checked(const Edit& edit, Publication publication) {
  CO_TRY(check_writable(head()));
  CO_TRY(check_message(publication.message));
  co_return co_await publish_as(edit, {}, 0, std::move(publication));
}

Async<Manifest> Volume::publish_as(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                                   Publication publication) {
  const bool has_session = session_.has_value();
  if (!has_session) CO_TRY(co_await begin_writing(context_.processes.this_one("edit")));
  const KeysInUse keys = [&edit] {
    std::set<std::string> used;
    add_packs(edit, used);
    return used;
  };
  Result<Manifest> published =
      co_await publish_edit(edit, chunks, packed, std::move(publication), keys);
  if (has_session) co_return published;
  if (!published.ok()) published = (co_await explain(published.error(), keys)).error();
  (void)co_await end_session();  // What is left of it ends by itself; the version is there.
  co_return published;
}

Async<Manifest> Volume::publish_edit(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                                     Publication publication, KeysInUse keys) {
  CO_TRY(co_await tell_of_links(edit));
  for (int tries = 0; tries < HeadRegister::kTriesMax; ++tries) {
    const std::int64_t generation = head().generation;
    const Result<Edited> edited = co_await edit_newest(edit, chunks, packed, publication);
    if (!edited.ok() && edited.error().code == Errc::kNotFound) {
      // Pages of a version that is the newest no more may be gone.
      CO_TRY(co_await head_->load());
      if (head().generation != generation) continue;
    }
    CO_TRY(Result<Edited>(edited));
    const Manifest& manifest = edited->manifest;
    if (manifest == edited->base) co_return manifest;
    const bool is_same = manifest.version == edited->base.version;
    if (CO_TRY(co_await publish_manifest(manifest, generation, is_same, keys))) co_return manifest;
  }
  co_return HeadRegister::changes_too_fast(name_);
}

Async<Volume::Edited> Volume::edit_newest(const Edit& edit, const NewChunks& chunks,
                                          std::int64_t packed, const Publication& publication) {
  Snapshot base = CO_TRY(co_await snapshot("latest"));
  if (publication.check) CO_TRY(co_await publication.check(base));
  Manifest manifest = CO_TRY(co_await manifest_of(base, edit, chunks, packed, publication.message));
  if (manifest.version != base.manifest().version) manifest.origin = publication.origin;
  co_return Edited{base.manifest(), std::move(manifest)};
}

Async<bool> Volume::publish_manifest(Manifest manifest, std::int64_t base, bool instead,
                                     KeysInUse keys) {
  const std::string text = encode_manifest(manifest);
  const std::string key =
      manifest_key(manifest.version, digits_of(session_->session().nonces().next()));
  CO_TRY(co_await put_object(key, text));
  const Result<std::int64_t> checked = co_await session_->check(std::move(keys));
  const bool is_gone = !checked.ok() && checked.error().code == Errc::kGone;
  if (!is_gone) CO_TRY(Result<std::int64_t>(checked));
  if (is_gone || head().generation != base) {
    CO_TRY(co_await head_->load());
    co_return false;
  }
  if (!instead) CO_TRY(co_await check_lease());
  if (head().generation != base) co_return false;  // It was looked at anew.
  Head next = next_head(manifest, text, key, instead);
  const std::int64_t epoch = next.lease.epoch;
  if (!instead && !held_lease_) next = with_lease(std::move(next), {epoch, ""});
  const HeadRegister::Swap swapped = CO_TRY(co_await head_->swap(std::move(next)));
  if (swapped == HeadRegister::Swap::kDone || head().holds(key)) co_return true;
  co_return !instead && CO_TRY(co_await comes_of(manifest.version, base + 1));
}

std::string Volume::session_name() {
  const std::string& key = session_->session().key();
  return key.substr(key.rfind('/') + 1);
}

Async<std::optional<SeenSession>> Volume::see_session(const std::string& name) {
  return volume::see_session(context_.store, prefix_ + "s/" + name, context_.stop);
}

Error is_leased(const std::string& volume, const SessionRecord& holder) {
  return Error(Errc::kConflict, "volume '" + volume + "' is written to by the mount in " +
                                    holder.source + " of " + holder.host + " (process " +
                                    std::to_string(holder.pid) + ")")
      .with_value(volume)
      .with_hint("write there, or end it: runnel volume umount " + holder.source);
}

Async<void> Volume::check_not_leased() {
  const std::string holder = head().lease.session;
  if (holder.empty()) co_return {};
  const std::optional<SeenSession> seen = CO_TRY(co_await see_session(holder));
  // A server of a mount may have ended whose next one is about to go on.
  const bool is_void = !seen || !seen->record || seen->record->kind == kEndedKind;
  if (is_void) co_return {};
  Error error = is_leased(name_, *seen->record);
  const std::string remedy = error.hint;
  co_return error.with_hint(remedy + "; where that is no more: runnel volume gc " + name_);
}

// A head that a swap is from has this very lease.
Async<void> Volume::check_lease() {
  if (!held_lease_) co_return co_await check_not_leased();
  if (head().lease == *held_lease_) co_return {};
  co_return Error(Errc::kConflict, "the lease of volume '" + name_ + "' was taken by somebody else")
      .with_value(name_)
      .with_hint("this one was taken for dead; what it has written is kept");
}

Async<bool> Volume::publish_tagged(Manifest manifest, std::function<std::string()> choose,
                                   KeysInUse keys) {
  const std::string key =
      manifest_key(manifest.version, digits_of(session_->session().nonces().next()));
  CO_TRY(co_await put_object(key, encode_manifest(manifest)));
  const Result<std::int64_t> checked = co_await session_->check(std::move(keys));
  const bool is_gone = !checked.ok() && checked.error().code == Errc::kGone;
  if (is_gone) {
    CO_TRY(co_await head_->load());
    co_return false;
  }
  CO_TRY(Result<std::int64_t>(checked));
  Head next = head();
  const std::string tag = choose();
  next.tags[tag] = {manifest.version, key, next.generation + 1};
  if (next.tags.size() > Head::kTagsMax) {
    co_return Error(Errc::kFull, "volume '" + name_ + "' has " + std::to_string(Head::kTagsMax) +
                                     " tags, which is as many as it may have")
        .with_value(tag)
        .with_hint("remove one: runnel volume tag " + name_ + " TAG --delete");
  }
  const HeadRegister::Swap swapped = CO_TRY(co_await head_->swap(std::move(next)));
  co_return swapped == HeadRegister::Swap::kDone || head().holds(key);
}

// Whether the head has the version, which was its generation's, or one that comes of it. By its
// id, since gc may have given it another manifest.
Async<bool> Volume::comes_of(std::string version, std::int64_t generation) {
  const auto is_it = [&](const VersionPlace& place) { return place.version == version; };
  if (std::any_of(head().recent.begin(), head().recent.end(), is_it)) co_return true;
  const auto swaps = static_cast<std::size_t>(head().generation - generation);
  if (swaps < Head::kRecentMax || head().newest() == nullptr) co_return false;
  // So many have followed that the head may have forgotten it: its ancestors have not.
  VersionPlace place = *head().newest();
  while (!place.key.empty() && place.version != version) {
    const Result<Manifest> manifest = co_await manifest_at(place);
    if (!manifest.ok() && manifest.error().code == Errc::kNotFound) co_return false;
    CO_TRY(Result<Manifest>(manifest));
    place = {manifest->parent, manifest->parent_key, 0};
  }
  co_return place.version == version;
}

// A swap that is late is one of a head which is there no more.
Async<void> Volume::fence() {
  for (int tries = 0; tries < HeadRegister::kTriesMax; ++tries) {
    if (CO_TRY(co_await head_->swap(head())) == HeadRegister::Swap::kDone) co_return {};
  }
  co_return HeadRegister::changes_too_fast(name_);
}

Async<void> Volume::change_head(HeadChange change) {
  for (int tries = 0; tries < HeadRegister::kTriesMax; ++tries) {
    Head next = CO_TRY(change(head()));
    if (next == head()) co_return {};
    const HeadRegister::Swap swapped = CO_TRY(co_await head_->swap(std::move(next)));
    if (swapped == HeadRegister::Swap::kDone) co_return {};
  }
  co_return HeadRegister::changes_too_fast(name_);
}

}  // namespace runnel::volume
