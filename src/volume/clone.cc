#include "volume/clone.h"

#include <algorithm>
#include <utility>

#include "volume/digits.h"

namespace runnel::volume {
namespace {

void add_feature(Head& head) {
  if (!head.has_feature(kClones)) head.features.emplace_back(kClones);
}

// The origin's promise to keep the version, in its head.
Result<Head> with_promise(const Head& now, const Volume& origin, const std::string& version,
                          const std::string& name, const std::string& nonce) {
  const VersionPlace* const there = now.find(version);
  if (there == nullptr) return was_dropped(version);
  const auto before = now.clones.find(name);
  if (before != now.clones.end() && before->second.is_made) {
    return Error(Errc::kConflict, "volume " + origin.name() + " was cloned as " + name + " before")
        .with_field("volume")
        .with_value(name)
        .with_hint("where that one is no more: runnel volume gc " + origin.name());
  }
  if (before == now.clones.end() && now.clones.size() >= Head::kClonesMax) {
    return Error(Errc::kFull,
                 "a volume has at most " + std::to_string(Head::kClonesMax) + " clones")
        .with_hint("clone a clone; runnel volume gc " + origin.name() +
                   " forgets those that are no more");
  }
  Head next = now;
  add_feature(next);
  // What puts may take over is kept of the newest version alone.
  const bool is_newest = now.newest() != nullptr && now.newest()->key == there->key;
  next.clones[name] = Clone{*there, nonce, false, is_newest};
  return next;
}

Error is_no_clone(const std::string& origin, const std::string& name) {
  return Error(Errc::kNotFound, "the clone " + name + " has come to nothing: gc of " + origin +
                                    ", or another volume of that name, went by while it was made")
      .with_field("volume")
      .with_value(name)
      .with_hint("make it again: runnel volume clone " + origin + " " + name);
}

bool promises(const Head& head, const std::string& name, const std::string& nonce) {
  const auto found = head.clones.find(name);
  return found != head.clones.end() && found->second.nonce == nonce;
}

// The condition under which a clone's head may be put: that there is none, or that it is this one,
// of a deleted volume or of a clone whose making has come to nothing. A promise that is gone does
// not come back. While the condition holds no gc takes what the clone begins with.
Async<object::Condition> condition_of(const VolumeContext& context, std::string name) {
  HeadRegister there(context.store, context.random, name, context.stop);
  there.see_deleted();
  const Result<void> loaded = co_await there.load();
  if (!loaded.ok() && loaded.error().code == Errc::kNotFound) co_return object::Condition::absent();
  CO_TRY(Result<void>(loaded));
  const Head& head = there.head();
  if (head.is_gone) co_return object::Condition::matches(there.etag());
  if (head.is_deleted()) co_return HeadRegister::was_deleted(name, false);
  const bool is_free =
      CO_TRY(co_await came_to_nothing(context.store, context.random, head, context.stop));
  if (!is_free) co_return HeadRegister::is_taken(name);
  co_return object::Condition::matches(there.etag());
}

// The first head of the clone, and the manifest that it names.
struct Beginning {
  Head head;
  std::string key;
  std::string manifest;
};

Beginning beginning_of(const Volume& origin, const std::string& name, Manifest manifest,
                       const Clone& promised, env::Random& random) {
  Beginning begin;
  begin.head.own_name = name;
  begin.head.uuid = HeadRegister::draw_uuid(random);
  begin.head.promise = promised.nonce;
  begin.head.features = origin.head().features;
  add_feature(begin.head);
  begin.head.bases = origin.head().bases;
  begin.head.bases.insert(begin.head.bases.begin(), origin.name());
  manifest.uuid = begin.head.uuid;
  manifest.parent_key.clear();  // Of another volume.
  manifest.totals.packed = 0;
  if (!promised.has_chunks) manifest.chunks = Tree();
  begin.manifest = encode_manifest(manifest);
  begin.key = manifest_key(manifest.version, digits_of(random.next()));
  begin.head.generation = 1;
  begin.head.manifest_sha256 = hash::hex(hash::sha256(begin.manifest));
  if (begin.manifest.size() <= Head::kInlineMax) begin.head.manifest = begin.manifest;
  begin.head.recent = {{manifest.version, begin.key, 1}};
  return begin;
}

Result<void> check_origin(const Volume& origin, const std::string& name) {
  TRY(check_volume_name(name));
  TRY(check_writable(origin.head()));
  if (origin.name() == name) return HeadRegister::is_taken(name);
  if (origin.head().bases.size() < Head::kBasesMax) return {};
  return Error(Errc::kFull, "volume " + origin.name() + " is a clone of a clone, " +
                                std::to_string(Head::kBasesMax) + " times")
      .with_value(origin.name())
      .with_hint("copy it: runnel volume cp " + origin.name() + ":/ NAME:/");
}

}  // namespace

Async<void> keep_promise(HeadRegister& origin, std::string origin_name, std::string clone,
                         std::string nonce) {
  while (true) {
    CO_TRY(co_await origin.load());
    if (!promises(origin.head(), clone, nonce)) co_return is_no_clone(origin_name, clone);
    Head next = origin.head();
    if (std::exchange(next.clones.at(clone).is_made, true)) co_return {};
    if (CO_TRY(co_await origin.swap(std::move(next))) == HeadRegister::Swap::kDone) co_return {};
  }
}

Async<bool> is_promised(object::ObjectStore& store, env::Random& random, Head clone,
                        async::StopToken stop) {
  HeadRegister origin(store, random, clone.bases.front(), std::move(stop));
  const Result<void> loaded = co_await origin.load();
  if (!loaded.ok() && loaded.error().code == Errc::kNotFound) co_return false;
  CO_TRY(Result<void>(loaded));
  co_return promises(origin.head(), clone.own_name, clone.promise);
}

Async<bool> came_to_nothing(object::ObjectStore& store, env::Random& random, Head clone,
                            async::StopToken stop) {
  if (clone.bases.empty() || clone.is_made) co_return false;
  co_return !CO_TRY(co_await is_promised(store, random, std::move(clone), std::move(stop)));
}

Async<void> release_promise(object::ObjectStore& store, env::Random& random, Head clone,
                            async::StopToken stop) {
  HeadRegister origin(store, random, clone.bases.front(), std::move(stop));
  while (true) {
    CO_TRY(co_await origin.load());
    if (!promises(origin.head(), clone.own_name, clone.promise)) co_return {};
    Head next = origin.head();
    next.clones.erase(clone.own_name);
    if (CO_TRY(co_await origin.swap(std::move(next))) == HeadRegister::Swap::kDone) co_return {};
  }
}

Async<bool> has_clone(object::ObjectStore& store, env::Random& random, std::string origin,
                      std::string clone, std::string nonce, async::StopToken stop) {
  HeadRegister there(store, random, std::move(clone), std::move(stop));
  there.see_deleted();  // While somebody reads one that is being deleted, it needs its origin.
  const Result<void> loaded = co_await there.load();
  if (!loaded.ok()) co_return loaded.error().code != Errc::kNotFound;
  const Head& head = there.head();
  co_return !head.bases.empty() && head.bases.front() == origin && head.promise == nonce;
}

Async<Volume> clone_volume(VolumeContext context, Volume& origin, std::string version,
                           std::string name) {
  CO_TRY(check_origin(origin, name));
  object::Condition condition = CO_TRY(co_await condition_of(context, name));
  const VersionPlace place = CO_TRY(origin.place_of(version));
  const std::string nonce = digits_of(context.random.next());
  CO_TRY(co_await origin.change_head(
      [&](const Head& now) { return with_promise(now, origin, place.version, name, nonce); }));
  const Clone promised = origin.head().clones.at(name);
  Manifest manifest = CO_TRY(co_await origin.manifest_at(promised.place));
  const Beginning begin = beginning_of(origin, name, std::move(manifest), promised, context.random);
  CO_TRY(co_await context.store.put(name + "/" + begin.key, object::make_body(begin.manifest),
                                    object::Condition::absent(), context.stop));
  Result<Volume> made =
      co_await Volume::create_with(context, name, begin.head, std::move(condition));
  const bool is_refused = !made.ok() && made.error().code == Errc::kConflict;
  if (!is_refused) co_return made;
  CO_TRY(co_await condition_of(context, name));
  co_return is_no_clone(origin.name(), name);  // Its place is free again.
}

}  // namespace runnel::volume
