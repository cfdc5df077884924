#include "writing/version_edit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace runnel::writing {
namespace {

using Changed = volume::InodeEdit::Changed;

// Makes the edit node by node.
class Making {
 public:
  Making(const Overlay::Nodes& nodes, StoredContents contents)
      : nodes_(nodes), contents_(std::move(contents)) {}

  void add(Inode inode, const OverlayNode& node) {
    if (node.is_in_version()) {
      edit_.nodes.emplace(inode, changed(inode, node));
    } else if (!node.is_new) {
      edit_.nodes.emplace(inode, Changed{std::nullopt, 0});
    } else {
      return;  // No version has had it.
    }
    for (const auto& [name, what] : node.names) {
      edit_.names.emplace(std::pair(inode, name), name_of(what));
    }
  }
  volume::InodeEdit take() { return std::move(edit_); }

 private:
  // A file that was never committed has no name in a version.
  std::optional<volume::Name> name_of(const OverlayName& what) const {
    if (what.inode == 0) return std::nullopt;
    const auto named = nodes_.find(what.inode);
    CHECK(named != nodes_.end(), "a name was changed to a node that was not");
    if (!named->second->is_in_version()) return std::nullopt;
    return volume::Name{what.inode, named->second->kind};
  }

  Changed changed(Inode inode, const OverlayNode& node) {
    volume::Node made;
    made.kind = node.kind;
    made.mode = node.mode;
    made.links = node.is_folder() ? 1 : node.places.size();
    made.owner = node.owner;
    made.group = node.group;
    const Moment& modified = node.is_file() ? node.committed : node.modified;
    made.changed = modified.seconds;
    made.changed_nanos = modified.nanos;
    made.target = node.target;
    if (node.is_file()) add_content(inode, node.content, made);
    const bool is_below = node.is_folder() && !node.is_root;
    return {std::move(made), is_below ? node.places.begin()->folder : 0};
  }

  void add_content(Inode inode, const Content& content, volume::Node& made) {
    const auto stored = contents_.find(inode);
    CHECK(stored != contents_.end(), "a file is published without its content");
    made.size = content.committed_size();
    made.hash = stored->second.hash;
    made.extents = std::move(stored->second.extents);
  }

  const Overlay::Nodes& nodes_;
  StoredContents contents_;
  volume::InodeEdit edit_;
};

}  // namespace

PublishedFiles files_of(const Overlay::Frozen& frozen) {
  PublishedFiles files;
  for (const auto& [inode, node] : frozen.nodes) {
    if (!node->is_file() || !node->is_in_version()) continue;
    (node->content.has_to_be_stored() ? files.changed : files.as_based).push_back(inode);
  }
  // Those that were made together are read together.
  std::sort(files.changed.begin(), files.changed.end());
  return files;
}

volume::InodeEdit edit_of(const Overlay::Frozen& frozen, StoredContents contents) {
  Making making(frozen.nodes, std::move(contents));
  for (const auto& [inode, node] : frozen.nodes) making.add(inode, *node);
  return making.take();
}

}  // namespace runnel::writing
