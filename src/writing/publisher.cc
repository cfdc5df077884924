#include "writing/publisher.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "async/worker.h"
#include "base/check.h"
#include "volume/chunk_packs.h"
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

std::set<std::string> packs_of(const volume::InodeEdit& edit) {
  std::set<std::string> keys;
  for (const auto& [inode, changed] : edit.nodes) {
    if (!changed.node) continue;
    for (const volume::Extent& extent : changed.node->extents) {
      if (extent.is_packed()) keys.insert(volume::pack_key(extent.pack));
    }
  }
  return keys;
}

}  // namespace

Async<std::optional<volume::Manifest>> Publisher::publish(std::string message) {
  CO_TRY(co_await settle());
  if (!branch_.overlay.frozen()) {
    if (!branch_.overlay.has_to_publish()) co_return std::optional<volume::Manifest>();
    CO_TRY(co_await append(Barrier{branch_.log.last() + 1}));
  }
  co_return std::optional(CO_TRY(co_await publish_frozen(std::move(message))));
}

Async<void> Publisher::settle() {
  const std::optional<Overlay::Frozen>& frozen = branch_.overlay.frozen();
  if (!frozen || frozen->publishing.empty()) co_return {};
  CO_TRY(co_await volume_.refresh());
  if (!has_published(frozen->publishing)) co_return {};
  co_return co_await append(Published{frozen->number, frozen->publishing});
}

// Durable when it returns.
Async<void> Publisher::append(Change change) {
  const LoggedRecord logged =
      CO_TRY(branch_.log.append({.request = {}, .change = std::move(change)}));
  CO_TRY(branch_.overlay.apply(logged));
  co_return co_await branch_.log.durable(logged.sequence);
}

Async<volume::Manifest> Publisher::publish_frozen(std::string message) {
  const std::string before = branch_.overlay.base().value_or("");
  const std::uint64_t number = branch_.overlay.frozen()->number;
  volume::Snapshot base = CO_TRY(co_await volume_.snapshot("latest"));
  if (base.manifest().version != before) co_return is_behind(volume_.name(), before);
  volume::Manifest manifest = CO_TRY(co_await store(base, std::move(message)));
  // The same tree is the same version, which the head has: only doing it again tells.
  const bool is_same = manifest.version == before;
  if (!is_same) CO_TRY(co_await append(Publishing{number, manifest.version}));
  CO_TRY(co_await put_newest(base.manifest(), manifest));
  CO_TRY(co_await append(Published{number, manifest.version}));
  co_return manifest;
}

// All but the manifest.
Async<volume::Manifest> Publisher::store(volume::Snapshot& base, std::string message) {
  const auto worker = CO_TRY(async::Worker::create(loop_, {.name = "volume-publish"}));
  volume::ExtentReader reader(loop_, volume_.ranges(), {});
  volume::ChunkPacks packs(loop_, volume_, base, pack_bytes_);
  ContentStore files(base, reader, packs, *worker, branch_.read);
  Result<StoredContents> stored = co_await store_files(base, files);
  Result<void> finished;
  if (stored.ok()) finished = co_await packs.finish(*worker);
  MUST(co_await packs.close());
  MUST(co_await reader.close());
  MUST(co_await worker->stop());
  StoredContents contents = CO_TRY(std::move(stored));
  CO_TRY(std::move(finished));
  for (auto& [inode, content] : contents) packs.name(content.extents);
  const volume::InodeEdit edit = edit_of(*branch_.overlay.frozen(), std::move(contents));
  in_use_ = packs_of(edit);
  volume::EditedIndex index = CO_TRY(
      co_await volume::apply(base, volume_.session().session().nonces(), edit, packs.take_new()));
  co_return co_await volume_.put_index(base.manifest(), std::move(index), packs.stored(),
                                       std::move(message));
}

Async<StoredContents> Publisher::store_files(volume::Snapshot& base, ContentStore& store) {
  // Frozen nodes stay as they are, whatever is changed meanwhile.
  const Overlay::Nodes& nodes = branch_.overlay.frozen()->nodes;
  const PublishedFiles files = files_of(*branch_.overlay.frozen());
  StoredContents contents;
  for (const Inode inode : files.changed) {
    const Overlay::NodePtr node = nodes.at(inode);
    contents[inode] = CO_TRY(co_await store.store(inode, node->content));
  }
  for (const Inode inode : files.as_based) {
    const volume::Node node = CO_TRY(co_await base.node(inode));
    contents[inode] = {CO_TRY(co_await base.extents(inode, node)), node.hash};
  }
  co_return contents;
}

Async<void> Publisher::put_newest(const volume::Manifest& base, volume::Manifest manifest) {
  const std::string version = manifest.version;
  const bool is_same = version == base.version;
  const bool is_put = CO_TRY(co_await volume_.publish_manifest(
      std::move(manifest), volume_.head().generation, is_same, [this] { return in_use_; }));
  if (is_put || has_published(version)) co_return {};
  co_return is_behind(volume_.name(), base.version);
}

bool Publisher::has_published(const std::string& version) const {
  const volume::Head& head = volume_.head();
  return std::ranges::any_of(head.recent, [&version](const volume::VersionPlace& place) {
    return place.version == version;
  });
}

}  // namespace runnel::writing
