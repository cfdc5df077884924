#include "fuse/listing_places.h"

#include <string>

#include <gtest/gtest.h>

#include "fuse/kernel_listing.h"

namespace runnel::fuse {
namespace {

TEST(ListingPlaces, APlaceIsANamesAlone) {
  EXPECT_EQ(ListingPlaces::place_behind("a"), ListingPlaces::place_behind("a"));
  EXPECT_NE(ListingPlaces::place_behind("a"), ListingPlaces::place_behind("b"));
  for (int number = 0; number < 10'000; ++number) {
    const std::uint64_t place = ListingPlaces::place_behind(std::to_string(number));
    EXPECT_GT(place, KernelListing::kDots);
    EXPECT_GE(static_cast<std::int64_t>(place), 0) << "an off_t has a sign";
  }
}

TEST(ListingPlaces, AreRememberedByTheirFolder) {
  ListingPlaces places;
  places.remember(5, "a");
  EXPECT_EQ(places.name_at(5, ListingPlaces::place_behind("a")), "a");
  EXPECT_EQ(places.name_at(6, ListingPlaces::place_behind("a")), std::nullopt);
  for (std::size_t number = 0; number < ListingPlaces::kNamesMax; ++number) {
    places.remember(7, std::to_string(number));
  }
  EXPECT_EQ(places.name_at(5, ListingPlaces::place_behind("a")), std::nullopt)
      << "for want of room";
}

}  // namespace
}  // namespace runnel::fuse
