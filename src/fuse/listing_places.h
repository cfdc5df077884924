#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "volume/node.h"
#include "volume/recently_used.h"

namespace runnel::fuse {

// Where lists of folders go on, as the kernel knows it: by a number, which is a name's alone, so
// that it means the same whatever is made or removed beside it, and to the next server.
//
// Limits: kNamesMax names are remembered; of others a list finds out by reading from its beginning.
class ListingPlaces {
 public:
  static constexpr std::size_t kNamesMax = 4'096;

  ListingPlaces() : names_(kNamesMax) {}

  // Behind the name: over KernelListing::kDots, and positive as an off_t.
  static std::uint64_t place_behind(const std::string& name);
  void remember(volume::Inode folder, const std::string& name);
  // The name that the place is behind.
  std::optional<std::string> name_at(volume::Inode folder, std::uint64_t place);

 private:
  volume::RecentlyUsed<std::pair<volume::Inode, std::uint64_t>, std::string> names_;
};

}  // namespace runnel::fuse
