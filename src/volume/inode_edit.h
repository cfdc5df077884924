#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "env/random.h"
#include "volume/edit.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// What a branch changes in its base, by numbers: those that a mount of it has given out stay.
// docs/design/branch_publish.md.
struct InodeEdit {
  // A node that is not as the base has it, or stands above one.
  struct Changed {
    // As it is afterwards, with all extents; none: it is gone. A folder's hash is made.
    std::optional<Node> node;
    // The folder that a folder is in; 0: it is the root.
    Inode above = 0;
  };

  // None: nothing has the name afterwards. A name that is not here is the base's.
  std::map<std::pair<Inode, std::string>, std::optional<Name>> names;
  // With each node all folders above it, and those whose names are changed.
  std::map<Inode, Changed> nodes;
};

// Applies it to the version that it was made for. kCorrupt where the two do not fit: a folder that
// is above a node is missing, or a name is of a node that is gone.
Async<EditedIndex> apply(Snapshot& base, env::Random& random, const InodeEdit& edit,
                         const NewChunks& chunks);

}  // namespace runnel::volume
