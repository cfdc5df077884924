#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "volume/manifest.h"
#include "volume/node.h"
#include "volume/tree.h"

namespace runnel::volume {

// One version of a volume, to be read: names, nodes, extents.
//
// Contract: paths are '/'-separated below the root, without '.' and '..'; "" is the root itself.
//           kNotFound names the path.
// Threads:  the loop's only.
// Lifetime: the source of pages outlives it.
class Snapshot {
 public:
  Snapshot(PageSource& pages, Manifest manifest) : pages_(pages), manifest_(std::move(manifest)) {}

  struct Found {
    Inode inode = 0;
    Node node;
  };
  struct Entry {
    std::string name;
    Name what;
  };

  const Manifest& manifest() const { return manifest_; }
  Async<Found> at(std::string path);
  Async<Node> node(Inode inode);
  // The name in a folder; none.
  Async<std::optional<Name>> look_up(Inode folder, std::string name);
  // Entries of a folder in byte order whose names come after `after`, at most `max`. kCorrupt for a
  // name that path_parts() would not take.
  Async<std::vector<Entry>> list(Inode folder, std::string after, std::size_t max);
  // All names of a node, each with its folder: looks at every name of the version.
  Async<std::vector<std::pair<Inode, std::string>>> names_of(Inode inode);
  // What files with inodes in [inode, end) have stored, from up to `max` records of the index: a
  // long file has several.
  struct Stored {
    Inode inode = 0;
    std::vector<Extent> extents;
  };
  Async<std::vector<Stored>> stored_from(Inode inode, Inode end, std::size_t max);
  // All extents of a file, in order.
  Async<std::vector<Extent>> extents(Inode inode, Node node);
  // The extent of a chunk with these bytes that the version has; none.
  Async<std::optional<Extent>> chunk(hash::Digest hash);

  PageSource& pages() { return pages_; }

 private:
  PageSource& pages_;
  Manifest manifest_;
};

// The folders that a walk over all of a version has entered: each has one name, or the walk would
// not end.
class WalkedFolders {
 public:
  // kCorrupt for one that it has entered before.
  Result<void> enter(Inode folder);

 private:
  std::unordered_set<Inode> met_;
};

// The parts of a path; kInvalid for one with an empty part, '.', '..' or a part of over 255 bytes.
Result<std::vector<std::string>> path_parts(std::string_view path);
// Why no file can have the name: "has ..."; none of one that it can have.
std::optional<std::string> fault_of_name(std::string_view name);
// The path of the parts.
std::string path_text(const std::vector<std::string>& parts);
// Without the last part; of the root, the root.
std::vector<std::string> parent_path(std::vector<std::string> parts);

}  // namespace runnel::volume
