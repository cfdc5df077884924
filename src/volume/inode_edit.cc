#include "volume/inode_edit.h"

#include <string_view>
#include <vector>

#include "volume/index_writer.h"

namespace runnel::volume {
namespace {

Error misfit(Inode inode, const std::string& what) {
  return {Errc::kCorrupt, "an edit " + what + ": inode " + std::to_string(inode)};
}

class NumberEditing {
 public:
  NumberEditing(Snapshot& base, const InodeEdit& edit, IndexWriter& index)
      : base_(base), edit_(edit), index_(index) {}

  // The hash of the root folder.
  Async<hash::Digest> run() {
    for (const auto& [inode, changed] : edit_.nodes) {
      index_.pass_over(inode);
      CO_TRY(co_await replace(inode, changed));
    }
    for (const auto& [at, what] : edit_.names) {
      const auto& [folder, name] = at;
      if (what) {
        index_.set_name(folder, name, *what);
      } else {
        index_.drop_name(folder, name);
      }
    }
    CO_TRY(find_below());
    if (!edit_.nodes.contains(kRootInode)) co_return misfit(kRootInode, "has no root");
    co_return co_await hash_folder(kRootInode);
  }

 private:
  // Folders get their hash later.
  Async<void> replace(Inode inode, const InodeEdit::Changed& changed) {
    const std::optional<std::string> before = CO_TRY(co_await find(
        base_.pages(), base_.manifest().inodes, inode_key(inode), Locality::kNeighbours));
    if (before) {
      index_.count(CO_TRY(decode_node(*before)), -1);
      CO_TRY(co_await index_.forget(inode));
    }
    if (!changed.node) co_return {};
    index_.count(*changed.node, 1);
    if (changed.node->kind != NodeKind::kFolder) index_.store(inode, *changed.node);
    co_return {};
  }

  // Which folders of the edit are in which.
  Result<void> find_below() {
    for (const auto& [inode, changed] : edit_.nodes) {
      const bool is_folder = changed.node && changed.node->kind == NodeKind::kFolder;
      if (!is_folder || inode == kRootInode) continue;
      const auto above = edit_.nodes.find(changed.above);
      const bool is_there = above != edit_.nodes.end() && above->second.node &&
                            above->second.node->kind == NodeKind::kFolder;
      if (!is_there) return misfit(inode, "lacks the folder that a folder is in");
      below_[changed.above].push_back(inode);
    }
    return {};
  }

  // Those in it come first.
  Async<hash::Digest> hash_folder(Inode folder) {
    CO_TRY(hashed_.enter(folder));
    for (const Inode below : below_[folder]) {
      folders_[below] = CO_TRY(co_await hash_folder(below));
    }
    Node node = *edit_.nodes.at(folder).node;
    node.hash = folder_hash(CO_TRY(co_await entries_of(folder)));
    index_.store(folder, node);
    co_return node.hash;
  }

  Async<std::vector<HashedEntry>> entries_of(Inode folder) {
    std::map<std::string, Inode> names;
    if (base_.manifest().names) {
      for (const auto& entry : CO_TRY(co_await base_.list(folder, "", kAllEntries))) {
        names.emplace(entry.name, entry.what.inode);
      }
    }
    for (auto at = edit_.names.lower_bound({folder, ""});
         at != edit_.names.end() && at->first.first == folder; ++at) {
      const std::string& name = at->first.second;
      if (at->second) {
        names[name] = at->second->inode;
      } else {
        names.erase(name);
      }
    }
    std::vector<HashedEntry> entries;
    entries.reserve(names.size());
    for (const auto& [name, inode] : names) {
      entries.push_back({name, CO_TRY(co_await node_after(inode))});
    }
    co_return entries;
  }

  Async<Node> node_after(Inode inode) {
    const auto changed = edit_.nodes.find(inode);
    if (changed == edit_.nodes.end()) co_return co_await base_.node(inode);
    if (!changed->second.node) co_return misfit(inode, "has a name of a node that is gone");
    Node node = *changed->second.node;
    if (node.kind != NodeKind::kFolder) co_return node;
    const auto hashed = folders_.find(inode);
    if (hashed == folders_.end()) co_return misfit(inode, "has a folder in two places");
    node.hash = hashed->second;
    co_return node;
  }

  Snapshot& base_;
  const InodeEdit& edit_;
  IndexWriter& index_;
  std::map<Inode, std::vector<Inode>> below_;
  std::map<Inode, hash::Digest> folders_;
  WalkedFolders hashed_;
};

}  // namespace

Async<EditedIndex> apply(Snapshot& base, env::Random& random, const InodeEdit& edit,
                         const NewChunks& chunks) {
  IndexWriter index(base);
  NumberEditing editing(base, edit, index);
  const hash::Digest tree = CO_TRY(co_await editing.run());
  co_return co_await index.finish(random, tree, chunks);
}

}  // namespace runnel::volume
