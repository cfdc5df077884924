#include "fuse/listing_places.h"

#include "base/check.h"
#include "fuse/kernel_listing.h"
#include "hash/xxh3.h"

namespace runnel::fuse {

std::uint64_t ListingPlaces::place_behind(const std::string& name) {
  constexpr std::uint64_t kPositive = ~std::uint64_t{0} >> 1;
  const std::uint64_t place = hash::xxh3(name) & kPositive;
  return place > KernelListing::kDots ? place : place + KernelListing::kDots + 1;
}

void ListingPlaces::remember(volume::Inode folder, const std::string& name) {
  names_.keep({folder, place_behind(name)}, name, 1);
}

std::optional<std::string> ListingPlaces::name_at(volume::Inode folder, std::uint64_t place) {
  CHECK(place > KernelListing::kDots, "the place of '.' or '..' is no name's");
  const std::string* const name = names_.find({folder, place});
  return name == nullptr ? std::nullopt : std::optional(*name);
}

}  // namespace runnel::fuse
