#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hash/sha256.h"
#include "volume/extent.h"

namespace runnel::volume {

using Inode = std::uint64_t;
inline constexpr Inode kRootInode = 1;

enum class NodeKind : std::uint8_t { kFile = 1, kFolder = 2, kLink = 3 };

// A file, a folder or a symbolic link, but for its name.
struct Node {
  static constexpr std::size_t kInlineExtentsMax = 64;

  NodeKind kind = NodeKind::kFile;
  std::uint32_t mode = 0644;        // Permission bits, 07777.
  std::uint64_t links = 1;          // Names that it has.
  std::int64_t changed = 0;         // Its content's last change, in seconds since 1970,
  std::uint32_t changed_nanos = 0;  // and nanoseconds.
  std::optional<std::uint32_t> owner;
  std::optional<std::uint32_t> group;

  std::uint64_t size = 0;       // Bytes of a file.
  hash::Digest hash{};          // Of a file or folder.
  std::vector<Extent> extents;  // Of a file; none of a long one, which has records of their own.
  std::string target;           // Of a link.

  friend bool operator==(const Node&, const Node&) = default;
};

// The permission bits of a file or folder that is made of the node. Owners are not kept: a file
// that was set-user-ID or set-group-ID would be so for whoever gets it.
std::uint32_t given_mode(const Node& node);

std::string encode_node(const Node& node);
// kCorrupt for what is no node.
Result<Node> decode_node(std::string_view bytes);

// The extents that an entry of the tree of inodes holds: of a short file, or a part of a long one.
Result<std::vector<Extent>> extents_of(std::string_view key, std::string_view value);

// Keys and values of the trees.
struct Name {
  Inode inode = 0;
  NodeKind kind = NodeKind::kFile;
  friend bool operator==(const Name&, const Name&) = default;
};
std::string name_key(Inode folder, std::string_view name);
std::string inode_key(Inode inode);
// Of a key of the tree of inodes. kCorrupt for what is none.
Result<Inode> inode_of(std::string_view key);
std::string extents_key(Inode inode, std::uint64_t offset);
std::string encode_name(const Name& name);
Result<Name> decode_name(std::string_view bytes);

}  // namespace runnel::volume
