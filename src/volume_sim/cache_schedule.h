#pragma once

#include <cstdint>
#include <string>

namespace runnel::volume_sim {

// What became of a cache on a disk, used by one process after another.
struct CacheOutcome {
  std::string violation;  // "": none.
  std::uint64_t hash = 0;
  std::int64_t kept = 0;    // Ranges,
  std::int64_t served = 0;  // and parts of them that were read.
  std::int64_t begun = 0;   // Segments, each as often as it was begun.
  std::int64_t kills = 0;
  std::int64_t flips = 0;  // Bits that the disk has changed.

  // Counts what another schedule has come to, too.
  void add(const CacheOutcome& more) {
    kept += more.kept;
    served += more.served;
    begun += more.begun;
    kills += more.kills;
    flips += more.flips;
  }
};

// A cache keeps, serves and drops ranges of packs while its process is killed at any page that it
// writes, and its disk fails, is full or changes a bit. What must hold, of every part that is read:
// it is what was kept of that range, unless the disk has changed something, and its slot has all of
// the range that was asked for; and the cache has no more bytes than it may.
CacheOutcome run_cache_schedule(std::uint64_t seed);

}  // namespace runnel::volume_sim
