#include "volume/tree_edit.h"

#include <utility>

namespace runnel::volume {
namespace {

constexpr std::size_t kEntriesAtOnce = 4'096;

Async<Edit> edit_of_walked(Snapshot& snapshot, Snapshot::Found found, WalkedFolders& walked,
                           async::StopToken stop) {
  CO_TRY(stop.check());
  if (found.node.kind == NodeKind::kFolder) CO_TRY(walked.enter(found.inode));
  Edit edit;
  edit.node = std::move(found.node);
  edit.node.links = 1;  // Each name is a file of its own.
  if (edit.node.kind == NodeKind::kFile) {
    edit.node.extents = CO_TRY(co_await snapshot.extents(found.inode, edit.node));
  }
  for (std::string after; edit.node.kind == NodeKind::kFolder;) {
    const auto entries = CO_TRY(co_await snapshot.list(found.inode, after, kEntriesAtOnce));
    if (entries.empty()) break;
    after = entries.back().name;
    for (const Snapshot::Entry& entry : entries) {
      Node node = CO_TRY(co_await snapshot.node(entry.what.inode));
      Snapshot::Found below{entry.what.inode, std::move(node)};
      edit.entries.emplace(
          entry.name, CO_TRY(co_await edit_of_walked(snapshot, std::move(below), walked, stop)));
    }
  }
  co_return edit;
}

}  // namespace

Async<Edit> edit_of(Snapshot& snapshot, Snapshot::Found found, async::StopToken stop) {
  WalkedFolders walked;
  co_return co_await edit_of_walked(snapshot, std::move(found), walked, std::move(stop));
}

void make_exact(Edit& edit) {
  edit.exact = true;
  for (auto& [name, entry] : edit.entries) make_exact(entry);
}

}  // namespace runnel::volume
