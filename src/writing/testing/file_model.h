#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "writing/overlay.h"

namespace runnel::writing::testing {

// A file, folder or link of a tree that is all in memory.
struct ModelNode {
  volume::NodeKind kind = volume::NodeKind::kFile;
  std::uint32_t mode = 0;
  std::uint64_t links = 1;
  Moment modified;
  std::string target;
  std::string bytes;
  std::map<std::string, Inode> names;

  friend bool operator==(const ModelNode&, const ModelNode&) = default;
};
using ModelTree = std::map<Inode, ModelNode>;
// A line for each node, of bytes their number and hash.
std::string text(const ModelTree& tree);

// What programs see of a branch, and what a version of it would have: written by the rules of
// docs/design/overlay.md, with none of the overlay's means.
class FileModel {
 public:
  FileModel();

  void create(Inode folder, const std::string& name, Inode inode, volume::NodeKind kind,
              Moment when);
  void write(Inode file, std::uint64_t offset, const std::string& bytes, Moment when);
  void truncate(Inode file, std::uint64_t size, Moment when);
  void rename(const Rename& change);
  void link(Inode inode, Inode folder, const std::string& name, Moment when);
  void unlink(Inode folder, const std::string& name, Moment when);
  void set_mode(Inode inode, std::uint32_t mode, std::optional<Moment> modified);
  void commit(Inode file);
  // One without a name, which nobody has open any more.
  void close(Inode inode) { nodes_.erase(inode); }

  ModelTree now() const;
  ModelTree version() const;
  const ModelNode& at(Inode inode) const { return nodes_.at(inode).now; }
  std::vector<Inode> all() const;

 private:
  struct Node {
    ModelNode now;
    bool is_committed = false;
    std::string committed;
    Moment committed_modified;
    std::vector<bool> changed;  // Of each byte that was committed.

    bool has_uncommitted() const;
  };

  void modified(Node& file, Moment when);
  void take_name(Inode inode);

  std::map<Inode, Node> nodes_;
};

}  // namespace runnel::writing::testing
