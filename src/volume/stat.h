#pragma once

#include <cstdint>

#include "volume/volume.h"

namespace runnel::volume {

// What a volume has, and what it takes in its store.
struct VolumeStat {
  Totals newest;              // Of the newest version.
  std::int64_t versions = 0;  // In the head, those with tags alone among them.
  std::int64_t sessions = 0;  // Of who reads or writes it now, or was killed.
  std::int64_t packs = 0;
  std::int64_t pack_bytes = 0;
  std::int64_t objects = 0;  // All of them, the head too.
  std::int64_t stored_bytes = 0;
  std::int64_t reads = 0;  // Requests that read all packs once.
  bool may_have_links =
      false;  // Files may be objects of other buckets, which are in none of these.
};

// By listing its objects: a request for each 1,000 of them.
Async<VolumeStat> stat_volume(Volume& volume, async::StopToken stop);

// What S3 asks for it, in US dollars, by the list prices of Amazon's Standard class in us-east-1 of
// 2026: 0.023 for a GB (10^9 bytes) a month, 0.005 for 1,000 puts, 0.0004 for 1,000 reads.
struct StorePrice {
  double month = 0;     // To keep its bytes.
  double put_once = 0;  // The requests that put all its objects.
  double read_once =
      0;  // The requests that read all packs; transfer out of the region is not in it.
};
StorePrice store_price(const VolumeStat& stat);

}  // namespace runnel::volume
