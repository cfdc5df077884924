#include "writing/testing/file_model.h"

#include <algorithm>
#include <utility>

#include "hash/xxh3.h"

namespace runnel::writing::testing {

using volume::NodeKind;

std::string text(const ModelTree& tree) {
  std::string all;
  for (const auto& [inode, node] : tree) {
    all += std::to_string(inode) + ": kind " + std::to_string(static_cast<int>(node.kind)) +
           ", mode " + std::to_string(node.mode) + ", " + std::to_string(node.links) +
           " links, modified " + std::to_string(node.modified.seconds) + ", " +
           std::to_string(node.bytes.size()) + " bytes " + std::to_string(hash::xxh3(node.bytes)) +
           " " + node.target;
    for (const auto& [name, what] : node.names) all += " " + name + "=" + std::to_string(what);
    all += '\n';
  }
  return all;
}

FileModel::FileModel() { nodes_[volume::kRootInode].now.kind = NodeKind::kFolder; }

bool FileModel::Node::has_uncommitted() const {
  return now.bytes.size() != committed.size() ||
         std::find(changed.begin(), changed.end(), true) != changed.end();
}

void FileModel::create(Inode folder, const std::string& name, Inode inode, NodeKind kind,
                       Moment when) {
  Node& node = nodes_[inode];
  node.now.kind = kind;
  node.now.modified = node.committed_modified = when;
  if (kind == NodeKind::kLink) node.now.target = name;
  nodes_.at(folder).now.names[name] = inode;
  nodes_.at(folder).now.modified = when;
}

void FileModel::modified(Node& file, Moment when) {
  file.now.modified = when;
  if (!file.has_uncommitted()) file.committed_modified = when;
}

void FileModel::write(Inode inode, std::uint64_t offset, const std::string& bytes, Moment when) {
  Node& file = nodes_.at(inode);
  if (!bytes.empty()) {
    const std::uint64_t end = offset + bytes.size();
    if (file.now.bytes.size() < end) file.now.bytes.resize(end, '\0');
    file.now.bytes.replace(offset, bytes.size(), bytes);
    for (std::uint64_t at = offset; at < std::min<std::uint64_t>(end, file.changed.size()); ++at) {
      file.changed[at] = true;
    }
  }
  modified(file, when);
}

void FileModel::truncate(Inode inode, std::uint64_t size, Moment when) {
  Node& file = nodes_.at(inode);
  const std::uint64_t from = std::min<std::uint64_t>(size, file.now.bytes.size());
  const std::uint64_t until = std::max<std::uint64_t>(size, file.now.bytes.size());
  for (std::uint64_t at = from; at < std::min<std::uint64_t>(until, file.changed.size()); ++at) {
    file.changed[at] = true;
  }
  file.now.bytes.resize(size, '\0');
  modified(file, when);
}

void FileModel::take_name(Inode inode) {
  ModelNode& node = nodes_.at(inode).now;
  --node.links;
}

void FileModel::rename(const Rename& change) {
  ModelNode& from = nodes_.at(change.from.folder).now;
  ModelNode& to = nodes_.at(change.to.folder).now;
  from.names.erase(change.from.name);
  to.names[change.to.name] = change.moved;
  if (change.exchanges) from.names[change.from.name] = change.replaced;
  from.modified = to.modified = change.when;
  if (change.replaced == 0) return;
  if (nodes_.at(change.moved).now.kind == NodeKind::kFile) commit(change.moved);
  if (!change.exchanges) take_name(change.replaced);
}

void FileModel::link(Inode inode, Inode folder, const std::string& name, Moment when) {
  ++nodes_.at(inode).now.links;
  nodes_.at(folder).now.names[name] = inode;
  nodes_.at(folder).now.modified = when;
}

void FileModel::unlink(Inode folder, const std::string& name, Moment when) {
  ModelNode& place = nodes_.at(folder).now;
  take_name(place.names.at(name));
  place.names.erase(name);
  place.modified = when;
}

void FileModel::set_mode(Inode inode, std::uint32_t mode, std::optional<Moment> modified) {
  Node& node = nodes_.at(inode);
  node.now.mode = mode;
  if (!modified) return;
  node.now.modified = *modified;
  if (!node.has_uncommitted()) node.committed_modified = *modified;
}

void FileModel::commit(Inode inode) {
  Node& file = nodes_.at(inode);
  file.is_committed = true;
  file.committed = file.now.bytes;
  file.committed_modified = file.now.modified;
  file.changed.assign(file.committed.size(), false);
}

std::vector<Inode> FileModel::all() const {
  std::vector<Inode> inodes;
  for (const auto& [inode, node] : nodes_) inodes.push_back(inode);
  return inodes;
}

ModelTree FileModel::now() const {
  ModelTree tree;
  for (const auto& [inode, node] : nodes_) tree[inode] = node.now;
  return tree;
}

ModelTree FileModel::version() const {
  const auto is_in = [](const Node& node) {
    return node.now.links > 0 && (node.now.kind != NodeKind::kFile || node.is_committed);
  };
  ModelTree tree;
  for (const auto& [inode, node] : nodes_) {
    if (!is_in(node)) continue;
    ModelNode& made = tree[inode] = node.now;
    if (made.kind == NodeKind::kFile) {
      made.bytes = node.committed;
      made.modified = node.committed_modified;
    }
    std::erase_if(made.names,
                  [this, &is_in](const auto& name) { return !is_in(nodes_.at(name.second)); });
  }
  return tree;
}

}  // namespace runnel::writing::testing
