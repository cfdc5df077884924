#include "writing/publisher.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "async/worker.h"
#include "base/check.h"
#include "volume/branch_session.h"
#include "volume/extent_reader.h"
#include "writing/version_edit.h"

namespace runnel::writing {
namespace {

Error is_behind(const std::string& volume, const std::string& base) {
  return Error(Errc::kConflict,
               "the newest version of '" + volume + "' is not the one that was written to: " + base)
      .with_value(base)
      .with_hint("somebody else has published meanwhile; what was written is kept");
}

}  // namespace

Async<std::optional<volume::Manifest>> Publisher::publish(std::string message) {
  return publish_to({}, std::move(message));
}

Async<std::optional<volume::Manifest>> Publisher::publish_aside(std::string message,
                                                                ChooseTag choose) {
  return publish_to(std::move(choose), std::move(message));
}

Async<std::optional<volume::Manifest>> Publisher::publish_to(ChooseTag choose,
                                                             std::string message) {
  CO_TRY(co_await settle());
  std::optional<volume::Manifest> made;
  if (branch_.overlay().frozen()) made = CO_TRY(co_await publish_frozen(choose, message));
  if (!branch_.overlay().has_to_publish()) co_return made;
  CO_TRY(co_await append(Barrier{branch_.last() + 1}));
  co_return std::optional(CO_TRY(co_await publish_frozen(std::move(choose), std::move(message))));
}

Async<void> Publisher::settle() {
  const std::optional<Overlay::Frozen>& frozen = branch_.overlay().frozen();
  if (!frozen || frozen->publishing.empty()) co_return {};
  CO_TRY(co_await volume_.refresh());
  const auto ours = CO_TRY(co_await find_published(frozen->publishing));
  if (!ours) co_return {};
  co_return co_await append_published(frozen->number, *ours);
}

Async<void> Publisher::begin_anew() {
  const std::optional<Overlay::Frozen>& frozen = branch_.overlay().frozen();
  std::optional<volume::Manifest> ours;
  if (frozen && !frozen->publishing.empty()) {
    CO_TRY(co_await volume_.refresh());
    ours = CO_TRY(co_await find_published(frozen->publishing));
    if (!ours) CO_TRY(co_await fence(frozen->number));
    if (!ours) ours = CO_TRY(co_await find_published(frozen->publishing));
  }
  if (ours) options_.rebase(*ours);
  co_return co_await branch_.begin_anew(ours ? ours->version : "");
}

// Once for a barrier: a disk may be full for long.
Async<void> Publisher::fence(std::uint64_t barrier) {
  if (fenced_ == barrier) co_return {};
  // A beat of a branch is a swap of what a publish swaps.
  if (options_.where == Where::kBranch) {
    CO_TRY(co_await volume_.keep_session([this] { return in_use(); }));
  } else {
    CO_TRY(co_await volume_.fence());
  }
  fenced_ = barrier;
  co_return {};
}

// Durable when it returns.
Async<void> Publisher::append(Change change) {
  const LoggedRecord logged = CO_TRY(branch_.change({.request = {}, .change = std::move(change)}));
  co_return co_await branch_.durable(logged.sequence);
}

// What the overlay forgets the base has.
Async<void> Publisher::append_published(std::uint64_t barrier, volume::Manifest manifest) {
  options_.rebase(manifest);
  co_return co_await append(Published{barrier, manifest.version});
}

Async<volume::Manifest> Publisher::publish_frozen(ChooseTag choose, std::string message) {
  const std::uint64_t number = branch_.overlay().frozen()->number;
  fenced_ = 0;
  Result<volume::Manifest> made = co_await put(std::move(choose), std::move(message));
  if (!made.ok()) {
    made = (co_await volume_.explain(made.error(), [this] { return in_use(); })).error();
  }
  contents_.clear();
  CO_TRY(Result<volume::Manifest>(made));
  CO_TRY(co_await append_published(number, *made));
  co_return made;
}

Async<volume::Manifest> Publisher::put(ChooseTag choose, std::string message) {
  if (choose) return put_aside(std::move(choose), std::move(message));
  if (options_.where == Where::kBranch) return put_in_branch(std::move(message));
  return put_version(std::move(message));
}

Async<Publisher::Stored> Publisher::store_contents_of_newest() {
  for (int tries = 0; tries < volume::HeadRegister::kTriesMax; ++tries) {
    const std::int64_t generation = volume_.head().generation;
    Result<volume::Snapshot> base = co_await volume_.snapshot("latest");
    Result<Stored> stored = base.ok() ? co_await store_contents(*base) : base.error();
    if (stored.ok()) co_return stored;
    if (!CO_TRY(co_await is_over_another(stored.error(), generation))) co_return stored;
    contents_.clear();
  }
  co_return volume::HeadRegister::changes_too_fast(volume_.name());
}

// Whether something may be missing because the newest version has other pages or packs by now.
Async<bool> Publisher::is_over_another(Error error, std::int64_t generation) {
  if (error.code != Errc::kNotFound) co_return false;
  CO_TRY(co_await volume_.refresh());
  co_return volume_.head().generation != generation;
}

// The files of the barrier, in packs that are put.
Async<Publisher::Stored> Publisher::store_contents(volume::Snapshot base) {
  const auto worker = CO_TRY(async::Worker::create(loop_, {.name = "volume-publish"}));
  volume::ExtentReader reader(loop_, volume_.ranges(), {});
  volume::ChunkPacks packs(loop_, volume_, base, options_.pack_bytes);
  ContentStore store(base, reader, packs, *worker, [this](std::vector<DataRange> ranges) {
    return branch_.read_all(std::move(ranges));
  });
  packs_ = &packs;
  Result<void> done = co_await store_files(base, store);
  if (done.ok()) done = co_await packs.finish(*worker);
  MUST(co_await packs.close());
  MUST(co_await reader.close());
  MUST(co_await worker->stop());
  if (done.ok()) {
    for (auto& [inode, content] : contents_) packs.name(content.extents);
  }
  packs_ = nullptr;
  CO_TRY(std::move(done));
  co_return Stored{base.manifest(), packs.take_new(), packs.stored()};
}

Async<void> Publisher::store_files(volume::Snapshot& base, ContentStore& store) {
  // Frozen nodes stay as they are, whatever is changed meanwhile.
  const Overlay::Nodes& nodes = branch_.overlay().frozen()->nodes;
  const PublishedFiles files = files_of(*branch_.overlay().frozen());
  ShortFiles shorts;
  for (const Inode inode : files.changed) {
    const Content& content = nodes.at(inode)->content;
    std::optional<std::vector<DataRange>> ranges = ContentStore::ranges_of_short(content);
    if (!ranges) {
      contents_[inode] = CO_TRY(co_await store.store(inode, content));
      continue;
    }
    shorts.inodes.push_back(inode);
    shorts.ranges.push_back(*std::move(ranges));
    shorts.bytes += content.committed_size();
    if (shorts.bytes < ContentStore::kShortsMax) continue;
    CO_TRY(co_await store_shorts(store, std::exchange(shorts, {})));
  }
  CO_TRY(co_await store_shorts(store, std::move(shorts)));
  for (const Inode inode : files.as_based) {
    const volume::Node node = CO_TRY(co_await base.node(inode));
    contents_[inode] = {CO_TRY(co_await base.extents(inode, node)), node.hash};
  }
  co_return {};
}

Async<void> Publisher::store_shorts(ContentStore& store, ShortFiles files) {
  std::vector<StoredContent> stored = CO_TRY(co_await store.store_shorts(std::move(files.ranges)));
  for (std::size_t at = 0; at < files.inodes.size(); ++at) {
    contents_[files.inodes[at]] = std::move(stored[at]);
  }
  co_return {};
}

// A tag, or a list of garbage, swaps the head as well. Pages are put anew for each try, since gc
// may have taken those before for nobody's; and files, where gc has packed the base anew: what was
// kept of it may be gone, and no list of garbage asks a session that it passes over.
Async<volume::Manifest> Publisher::put_version(std::string message) {
  const std::string before = *branch_.overlay().base();
  Stored stored = CO_TRY(co_await store_contents_of_newest());
  for (int tries = 0; tries < volume::HeadRegister::kTriesMax; ++tries) {
    const std::int64_t generation = volume_.head().generation;
    Result<volume::Snapshot> base = co_await volume_.snapshot("latest");
    if (base.ok() && base->manifest().version != before) {
      co_return co_await come_through(before);
    }
    if (base.ok() && base->manifest() != stored.base) {
      contents_.clear();
      stored = CO_TRY(co_await store_contents_of_newest());
      continue;
    }
    const volume::InodeEdit edit = edit_of(*branch_.overlay().frozen(), contents_);
    const Result<volume::Manifest> put =
        base.ok() ? co_await put_index(*base, edit, stored, message) : base.error();
    if (!put.ok() && CO_TRY(co_await is_over_another(put.error(), generation))) continue;
    const volume::Manifest manifest = CO_TRY(Result<volume::Manifest>(put));
    if (manifest == base->manifest()) co_return manifest;
    CO_TRY(co_await tell_publishing(before, manifest.version));
    const bool instead = manifest.version == before;
    const bool is_put = CO_TRY(co_await volume_.publish_manifest(manifest, generation, instead,
                                                                 [this] { return in_use(); }));
    if (is_put) co_return manifest;
  }
  co_return volume::HeadRegister::changes_too_fast(volume_.name());
}

Async<volume::Manifest> Publisher::put_index(volume::Snapshot& base, const volume::InodeEdit& edit,
                                             const Stored& stored, std::string message) {
  env::Random& nonces = volume_.session().session().nonces();
  volume::EditedIndex index = CO_TRY(co_await volume::apply(base, nonces, edit, stored.chunks));
  co_return co_await volume_.put_index(base.manifest(), std::move(index), stored.packed,
                                       std::move(message));
}

// A tag may go anywhere. What it takes of the base stays where it is, as long as a head has that.
Async<volume::Manifest> Publisher::put_aside(ChooseTag choose, std::string message) {
  CHECK(branch_.overlay().frozen(), "there is nothing to be published");
  const std::string before = *branch_.overlay().base();
  for (int tries = 0; tries < volume::HeadRegister::kTriesMax; ++tries) {
    volume::Snapshot base = CO_TRY(co_await volume_.snapshot_by_id(before));
    contents_.clear();
    const Stored stored = CO_TRY(co_await store_contents(base));
    const volume::InodeEdit edit = edit_of(*branch_.overlay().frozen(), contents_);
    volume::Manifest manifest = CO_TRY(co_await put_index(base, edit, stored, message));
    const volume::VersionPlace* const parent = volume_.head().find(before);
    manifest.parent_key = parent == nullptr ? "" : parent->key;
    CO_TRY(co_await tell_publishing(before, manifest.version));
    const bool is_put =
        CO_TRY(co_await volume_.publish_tagged(manifest, choose, [this] { return in_use(); }));
    if (is_put) co_return manifest;
  }
  co_return volume::HeadRegister::changes_too_fast(volume_.name());
}

// The same tree is the same version, which the head has: only doing it again tells.
Async<void> Publisher::tell_publishing(const std::string& before, const std::string& version) {
  if (version == before) co_return {};
  co_return co_await append(Publishing{branch_.overlay().frozen()->number, version});
}

// The branch has one writer, so that its base stays as it is.
Async<volume::Manifest> Publisher::put_in_branch(std::string message) {
  const std::string before = *branch_.overlay().base();
  volume::Snapshot base = CO_TRY(co_await volume::snapshot_of_branch(volume_));
  if (base.manifest().version != before) co_return co_await come_through(before);
  contents_.clear();
  const Stored stored = CO_TRY(co_await store_contents(base));
  const volume::InodeEdit edit = edit_of(*branch_.overlay().frozen(), contents_);
  volume::Manifest manifest = CO_TRY(co_await put_index(base, edit, stored, std::move(message)));
  if (manifest == base.manifest()) co_return manifest;
  CO_TRY(co_await tell_publishing(before, manifest.version));
  CO_TRY(co_await volume_.publish_in_branch(manifest, false));
  co_return manifest;
}

// The newest version is another one than was written to: ours, by a swap that nobody heard of.
Async<volume::Manifest> Publisher::come_through(std::string before) {
  const std::string publishing = branch_.overlay().frozen()->publishing;
  if (publishing.empty()) co_return is_behind(volume_.name(), before);
  const auto ours = CO_TRY(co_await find_published(publishing));
  if (!ours) co_return is_behind(volume_.name(), before);
  co_return *ours;
}

std::set<std::string> Publisher::in_use() const {
  std::set<std::string> keys;
  if (packs_ != nullptr) keys = packs_->keys_in_use();
  for (const auto& [inode, content] : contents_) {
    for (const volume::Extent& extent : content.extents) {
      if (extent.is_packed()) keys.insert(volume::pack_key(extent.pack));
    }
  }
  return keys;
}

Async<std::optional<volume::Manifest>> Publisher::find_published(std::string version) {
  if (options_.where == Where::kBranch) {
    const volume::Snapshot pinned = CO_TRY(co_await volume::snapshot_of_branch(volume_));
    const bool is_it = pinned.manifest().version == version;
    co_return is_it ? std::optional(pinned.manifest()) : std::nullopt;
  }
  if (volume_.head().find(version) == nullptr) co_return std::optional<volume::Manifest>();
  const volume::Snapshot ours = CO_TRY(co_await volume_.snapshot_by_id(std::move(version)));
  co_return std::optional(ours.manifest());
}

}  // namespace runnel::writing
