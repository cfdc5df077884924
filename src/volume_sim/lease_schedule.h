#pragma once

#include <cstdint>
#include <string>

namespace runnel::volume_sim {

// What became of mounts that wanted to write one volume.
struct LeaseOutcome {
  std::string violation;       // Empty: none.
  std::uint64_t hash = 0;      // Of all that happened to the bucket: the same for the same seed.
  std::int64_t files = 0;      // That were made, and promised.
  std::int64_t versions = 0;   // Of all.
  std::int64_t leases = 0;     // Mounts that had one.
  std::int64_t refused = 0;    // Mounts that had none, while another one lived.
  std::int64_t lost = 0;       // Mounts that were taken for dead, and lost.
  std::int64_t recovered = 0;  // Versions with a tag of what those had written.
  std::int64_t kills = 0;
  std::int64_t stops = 0;

  // Counts what another schedule has come to, too.
  void add(const LeaseOutcome& more) {
    files += more.files;
    versions += more.versions;
    leases += more.leases;
    refused += more.refused;
    lost += more.lost;
    recovered += more.recovered;
    kills += more.kills;
    stops += more.stops;
  }
};

// Several mounts, each with a log of its own on its machine's disk, want to write one volume, are
// killed and taken over, stand still for longer than a session lives, and lose their store, beside
// puts, tags and gcs. What must hold (Oracle, 7): nobody publishes beside the holder of the lease.
// And at the end, when each log was mounted once more without faults: every file that a mount has
// promised is in the newest version, or in one with a tag.
LeaseOutcome run_lease_schedule(std::uint64_t seed, bool told);

}  // namespace runnel::volume_sim
