#pragma once

#include <map>
#include <optional>
#include <string>

#include "async/stop_token.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// What stood at a path, and what stands there now; none: nothing.
struct PathChange {
  std::optional<Snapshot::Found> before;
  std::optional<Snapshot::Found> after;
};

// By path. Of a folder that is gone, or another kind by now, the topmost alone; of a new one, all
// below it, too; of one that both have, its own attributes.
using VersionDifference = std::map<std::string, PathChange>;

// How a version is not as another one, as far as their hashes tell: kinds, bytes, permission bits
// and targets, and neither times nor owners. Costs the folders that differ, not what is there.
Async<VersionDifference> difference_of(Snapshot& before, Snapshot& after, async::StopToken stop);

// Whether they are the same file, link or folder, of which what is in it is not compared.
bool is_same_node(const Node& one, const Node& other);

}  // namespace runnel::volume
