#include "volume/edit.h"

#include <algorithm>
#include <optional>

#include "base/binary.h"
#include "base/check.h"
#include "volume/index_writer.h"

namespace runnel::volume {
namespace {

constexpr std::int64_t kMillisOfSecond = 1'000;
constexpr std::int64_t kNanosOfMilli = 1'000'000;

Error in_the_way(const std::string& path, NodeKind there) {
  const std::string what = there == NodeKind::kFolder ? "a folder" : "no folder";
  return Error(Errc::kConflict, "'" + path + "' is " + what + " in the volume already")
      .with_value(path);
}

Error is_not_empty(const std::string& path) {
  return Error(Errc::kConflict, "'" + path + "' is a folder that is not empty")
      .with_value(path)
      .with_hint("remove it first: runnel volume rm NAME:/" + path);
}

// Applies one edit.
class Editing {
 public:
  Editing(Snapshot& base, IndexWriter& index) : base_(base), index_(index) {}

  Async<hash::Digest> edit_root(const Edit& root) {
    const bool is_first = !base_.manifest().inodes.has_value();
    if (is_first) index_.count(root.node, 1);
    Node node = root.node;
    const bool keeps = !is_first && !root.exact && !root.renews;
    if (keeps) node = CO_TRY(co_await base_.node(kRootInode));
    co_return co_await edit_folder(kRootInode, std::move(node), is_first, root, "");
  }

 private:
  // Its hash afterwards.
  Async<hash::Digest> edit_folder(Inode inode, Node node, bool is_new, const Edit& edit,
                                  std::string path) {
    std::map<std::string, Name> there;
    if (!is_new) {
      for (auto& entry : CO_TRY(co_await base_.list(inode, "", kAllEntries))) {
        there.emplace(std::move(entry.name), entry.what);
      }
    }
    std::map<std::string, Node> after;
    for (const auto& [name, what] : there) {
      if (edit.entries.contains(name)) continue;
      if (edit.whole || edit.exact) {
        CO_TRY(co_await remove(inode, name, what));
      } else {
        after.emplace(name, CO_TRY(co_await base_.node(what.inode)));
      }
    }
    for (const auto& [name, entry] : edit.entries) {
      const std::string below = path.empty() ? name : path + "/" + name;
      const auto old = there.find(name);
      const std::optional<Name> before =
          old == there.end() ? std::nullopt : std::optional(old->second);
      std::optional<Node> made = CO_TRY(co_await edit_entry(inode, name, before, entry, below));
      if (made) after.emplace(name, *std::move(made));
    }
    node.hash = hash_of(after);
    index_.store(inode, node);
    co_return node.hash;
  }

  // The node that has the name afterwards; none.
  Async<std::optional<Node>> edit_entry(Inode folder, const std::string& name,
                                        const std::optional<Name>& before, const Edit& edit,
                                        const std::string& path) {
    if (edit.moved_away) {
      if (before) index_.drop_name(folder, name);
      co_return std::optional<Node>();
    }
    if (edit.gone) {
      if (before) CO_TRY(co_await remove(folder, name, *before));
      co_return std::optional<Node>();
    }
    if (!edit.moved_from.empty()) {
      co_return std::optional(
          CO_TRY(co_await give_name(folder, name, before, edit.moved_from, path)));
    }
    const bool is_folder = edit.node.kind == NodeKind::kFolder;
    const bool is_other = before && is_folder != (before->kind == NodeKind::kFolder);
    if (is_other && !edit.exact) co_return in_the_way(path, before->kind);
    if (is_folder && !is_other) {
      co_return std::optional(CO_TRY(co_await edit_below(folder, name, before, edit, path)));
    }
    if (before) CO_TRY(co_await remove(folder, name, *before));
    if (is_folder) {
      co_return std::optional(CO_TRY(co_await edit_below(folder, name, std::nullopt, edit, path)));
    }
    const Inode inode = take_inode(folder, name, edit.node.kind);
    index_.store(inode, edit.node);
    index_.count(edit.node, 1);
    co_return std::optional(edit.node);
  }

  Async<Node> edit_below(Inode folder, const std::string& name, const std::optional<Name>& before,
                         const Edit& edit, const std::string& path) {
    Node node = edit.node;
    const bool keeps = before && !edit.exact && !edit.renews;
    if (keeps) node = CO_TRY(co_await base_.node(before->inode));
    if (!before) index_.count(node, 1);
    const Inode inode = before ? before->inode : take_inode(folder, name, NodeKind::kFolder);
    node.hash = CO_TRY(co_await edit_folder(inode, node, !before.has_value(), edit, path));
    co_return node;
  }

  // Gives what has the path `from` a name in the folder: its node.
  Async<Node> give_name(Inode folder, const std::string& name, const std::optional<Name>& before,
                        const std::string& from, const std::string& path) {
    CHECK(from != path, "what is moved has another path before");
    Snapshot::Found moved = CO_TRY(co_await base_.at(from));
    if (before) {
      const bool was_folder = before->kind == NodeKind::kFolder;
      if (was_folder != (moved.node.kind == NodeKind::kFolder)) {
        co_return in_the_way(path, before->kind);
      }
      const bool has_entries =
          was_folder && !CO_TRY(co_await base_.list(before->inode, "", 1)).empty();
      if (has_entries) co_return is_not_empty(path);
      CO_TRY(co_await remove(folder, name, *before));
    }
    index_.set_name(folder, name, {moved.inode, moved.node.kind});
    co_return std::move(moved.node);
  }

  Inode take_inode(Inode folder, const std::string& name, NodeKind kind) {
    const Inode inode = index_.take_number();
    index_.set_name(folder, name, {inode, kind});
    return inode;
  }

  Async<void> remove(Inode folder, std::string name, Name what) {
    const Node node = CO_TRY(co_await base_.node(what.inode));
    if (node.kind == NodeKind::kFolder) {
      CO_TRY(removed_.enter(what.inode));
      for (const auto& entry : CO_TRY(co_await base_.list(what.inode, "", kAllEntries))) {
        CO_TRY(co_await remove(what.inode, entry.name, entry.what));
      }
    }
    index_.drop_name(folder, name);
    const std::uint64_t dropped = ++dropped_names_[what.inode];
    if (dropped < node.links) {
      Node left = node;
      left.links = node.links - dropped;
      index_.store(what.inode, std::move(left));
      co_return {};
    }
    CO_TRY(co_await index_.forget(what.inode));
    index_.count(node, -1);
    co_return {};
  }

  static hash::Digest hash_of(const std::map<std::string, Node>& entries) {
    std::vector<HashedEntry> hashed;
    hashed.reserve(entries.size());
    for (const auto& [name, node] : entries) hashed.push_back({name, node});
    return folder_hash(hashed);
  }

  Snapshot& base_;
  IndexWriter& index_;
  WalkedFolders removed_;
  std::map<Inode, std::uint64_t> dropped_names_;  // Of files, which may have others.
};

}  // namespace

Edit Edit::folder(Time changed) {
  const std::int64_t millis = changed.millis();
  Edit edit;
  edit.node.kind = NodeKind::kFolder;
  edit.node.mode = 0755;
  edit.node.changed = millis / kMillisOfSecond;
  edit.node.changed_nanos = static_cast<std::uint32_t>(millis % kMillisOfSecond * kNanosOfMilli);
  return edit;
}

Edit& folder_at(Edit& root, const std::vector<std::string>& path, Time now) {
  Edit* folder = &root;
  for (const std::string& part : path) {
    folder = &folder->entries.try_emplace(part, Edit::folder(now)).first->second;
  }
  return *folder;
}

hash::Digest folder_hash(const std::vector<HashedEntry>& entries) {
  std::string text = "runnel folder 1\n";
  for (const auto& [name, node] : entries) {
    Encoder encoder(text);
    encoder.text(name).byte(static_cast<std::uint8_t>(node.kind)).natural(node.mode);
    switch (node.kind) {
      case NodeKind::kFile:
        encoder.natural(node.size);
        text.append(node.hash.data(), node.hash.size());
        break;
      case NodeKind::kFolder: text.append(node.hash.data(), node.hash.size()); break;
      case NodeKind::kLink: encoder.text(node.target); break;
    }
  }
  return hash::sha256(text);
}

hash::Digest tree_hash(const Edit& root) {
  std::vector<HashedEntry> hashed;
  hashed.reserve(root.entries.size());
  for (const auto& [name, entry] : root.entries) {
    Node node = entry.node;
    if (node.kind == NodeKind::kFolder) node.hash = tree_hash(entry);
    hashed.push_back({name, std::move(node)});
  }
  return folder_hash(hashed);
}

Async<EditedIndex> apply(Snapshot& base, env::Random& random, const Edit& root,
                         const NewChunks& chunks) {
  CHECK(root.node.kind == NodeKind::kFolder, "the root of a volume is a folder");
  IndexWriter index(base);
  Editing editing(base, index);
  const hash::Digest tree = CO_TRY(co_await editing.edit_root(root));
  co_return co_await index.finish(random, tree, chunks);
}

}  // namespace runnel::volume
