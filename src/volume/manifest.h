#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "hash/sha256.h"
#include "volume/node.h"
#include "volume/tree.h"

namespace runnel::volume {

// What a version has, counted.
struct Totals {
  std::int64_t files = 0;
  std::int64_t folders = 0;  // The root among them.
  std::int64_t links = 0;
  std::int64_t bytes = 0;   // Of its files.
  std::int64_t packed = 0;  // Bytes of chunks that its put stored.
  friend bool operator==(const Totals&, const Totals&) = default;
};

// A version of a volume: the roots of its index, and where it comes from.
struct Manifest {
  std::string uuid;     // Of the volume.
  std::string version;  // version_id() of parent and tree.
  std::string parent;   // Empty: the first one.
  std::string parent_key;
  Time time;
  std::string message;
  std::string origin;   // The name of the merge that made it (merge.h); empty: none did.
  hash::Digest tree{};  // Of the root folder.
  Tree names;
  Tree inodes;
  Tree chunks;
  Inode next_inode = kRootInode + 1;
  Totals totals;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

inline constexpr std::int64_t kFormat = 1;

// 16 hexadecimal digits: the same for the same tree over the same parent.
std::string version_id(std::string_view parent, const hash::Digest& tree);
// Whether it may be one.
bool is_version_id(std::string_view text);

// A manifest that is longer than who reads it takes would be the last one of its volume: kInvalid.
Result<void> check_message(const std::string& message);

std::string manifest_key(std::string_view version, std::string_view nonce);  // "v/..."

std::string encode_manifest(const Manifest& manifest);
// kUnsupported for a later format, kCorrupt for what is no manifest.
Result<Manifest> decode_manifest(std::string_view text);

}  // namespace runnel::volume
