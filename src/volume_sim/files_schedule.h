#pragma once

#include <cstdint>
#include <string>

namespace runnel::volume_sim {

// What became of programs that changed the files of one branch beside each other.
struct FilesOutcome {
  std::string violation;   // Empty: none.
  std::uint64_t hash = 0;  // Of all that happened to the bucket: the same for the same seed.
  std::int64_t calls = 0;
  std::int64_t refused = 0;  // Of these.
  std::int64_t publishes = 0;

  // Counts what another schedule has come to, too.
  void add(const FilesOutcome& more) {
    calls += more.calls;
    refused += more.refused;
    publishes += more.publishes;
  }
};

// Programs make, write, rename, remove, list and read files of a branch in virtual time, each in
// folders of its own, over a network that loses and delays, while the branch is published under
// them and gcs work on the volume. What must hold: each program sees at any time what it has done,
// and is refused what Linux refuses; at the end the newest version has all of it.
FilesOutcome run_files_schedule(std::uint64_t seed, bool told);

}  // namespace runnel::volume_sim
