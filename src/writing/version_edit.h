#pragma once

#include <map>
#include <vector>

#include "hash/sha256.h"
#include "volume/inode_edit.h"
#include "writing/overlay.h"

namespace runnel::writing {

// The bytes of a file as a version stores them.
struct StoredContent {
  std::vector<volume::Extent> extents;
  hash::Digest hash{};
};
using StoredContents = std::map<Inode, StoredContent>;

// The files that a version of the barrier has.
struct PublishedFiles {
  std::vector<Inode> changed;   // Their bytes are to be stored.
  std::vector<Inode> as_based;  // They have the base's: only names or attributes are others.
};
PublishedFiles files_of(const Overlay::Frozen& frozen);

// The edit that makes a version of the barrier out of the overlay's base. `contents`: of all files
// of files_of(). docs/design/branch_publish.md.
volume::InodeEdit edit_of(const Overlay::Frozen& frozen, StoredContents contents);

}  // namespace runnel::writing
