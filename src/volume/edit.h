#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "hash/sha256.h"
#include "volume/bundle.h"
#include "volume/node.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// What pages of the index have at most: those of names and inodes, and those of chunks.
inline constexpr std::size_t kIndexPageBytes = 64 << 10;
inline constexpr std::size_t kChunkPageBytes = 16 << 10;

// What a put changes in a tree: files, links and folders by name. What a folder has and the edit
// does not name stays, unless the folder is `whole`.
struct Edit {
  Node node;  // Of a folder, its attributes; its hash is made of what it has in the end.
  std::map<std::string, Edit> entries;  // Of a folder.
  bool whole = false;                   // A folder that has nothing but `entries` afterwards.
  bool renews = false;                  // A folder that has these attributes, also if it was there.
  bool gone = false;                    // There is nothing of the name afterwards.
  // It takes the place of whatever has the name: of another kind, too, and a folder with its
  // attributes and nothing but `entries`.
  bool exact = false;
  // What has this path before, with all below it, has the name afterwards. Where it was, the edit
  // has an entry that is `moved_away`.
  std::string moved_from;
  bool moved_away = false;

  static Edit folder(Time changed = {});
};

// The folder of an edit under the path, made with those above it where it is not there: at `now`.
Edit& folder_at(Edit& root, const std::vector<std::string>& path, Time now);

// A file's chunks that are new in the volume.
using NewChunks = std::map<hash::Digest, Extent>;

// The index of a version that comes of another one by an edit.
struct EditedIndex {
  hash::Digest tree{};
  Tree names;
  Tree inodes;
  Tree chunks;
  Inode next_inode = 0;
  Totals totals;                   // But for what was packed.
  std::vector<NewObject> bundles;  // Of its new pages, to be put before anybody is told of it.
};

// Applies the edit to the root folder of a version, or to nothing. kConflict when a folder would
// take the place of a file or the other way round, or what is moved that of a folder that is not
// empty; kNotFound when what is to be moved is not there.
Async<EditedIndex> apply(Snapshot& base, env::Random& random, const Edit& root,
                         const NewChunks& chunks);

// The hash of a folder by its entries, docs/design/volume_format.md.
struct HashedEntry {
  std::string name;
  Node node;
};
hash::Digest folder_hash(const std::vector<HashedEntry>& entries);
// That of the tree which the edit makes of nothing.
hash::Digest tree_hash(const Edit& root);

}  // namespace runnel::volume
