#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "volume/recently_used.h"
#include "volume/snapshot.h"

namespace runnel::volume {

// Lists folders of one version from any place in them.
//
// Contract: an entry's number, its place in the byte order of names, is the same for all readers
//           of the version, at any time.
// Threads:  the loop's only.
// Lifetime: the snapshot outlives it.
// Limits:   kPlacesMax places where lists have stopped are remembered; who goes on elsewhere lists
//           from the beginning.
class FolderReader {
 public:
  static constexpr std::size_t kPlacesMax = 1'024;

  explicit FolderReader(Snapshot& snapshot) : snapshot_(snapshot), places_(kPlacesMax) {}

  // Entries from the one with this number on, at most `max`; none at the end.
  Async<std::vector<Snapshot::Entry>> list(Inode folder, std::uint64_t number, std::size_t max);
  // The list will go on from this number; the name is of the entry before it.
  void remember(Inode folder, std::uint64_t number, std::string name_before);

 private:
  using Place = std::pair<Inode, std::uint64_t>;  // A folder, and a number in it.

  Snapshot& snapshot_;
  RecentlyUsed<Place, std::string> places_;  // The name before it.
};

}  // namespace runnel::volume
