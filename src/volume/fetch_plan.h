#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "volume/extent.h"
#include "volume/stored_ranges.h"

namespace runnel::volume {

// What is stored of a chunk.
ObjectRange stored_range(const Extent& extent);

// A range of a pack or object that is fetched by one request, and which of the extents lie in it.
struct Fetch {
  ObjectRange range;
  std::vector<std::size_t> extents;  // Their indices, by offset.
};

inline constexpr std::uint64_t kFetchBytesMax = 8 << 20;
inline constexpr std::uint64_t kFetchGapMax = 64 << 10;  // Cheaper to read than to ask again.

// The requests that fetch all extents but holes: neighbours in a pack go together, up to
// `bytes_max`.
std::vector<Fetch> plan_fetches(const std::vector<Extent>& extents,
                                std::uint64_t bytes_max = kFetchBytesMax);

}  // namespace runnel::volume
