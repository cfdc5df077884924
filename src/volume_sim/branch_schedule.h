#pragma once

#include <cstdint>
#include <string>

namespace runnel::volume_sim {

// What became of a branch that was written by one process after another.
struct BranchOutcome {
  std::string violation;   // Empty: none.
  std::uint64_t hash = 0;  // Of all that happened to the bucket: the same for the same seed.
  std::int64_t changes = 0;
  std::int64_t publishes = 0;
  std::int64_t kills = 0;
  std::int64_t power_losses = 0;
  std::int64_t lost = 0;      // Records that no promise held.
  std::int64_t failures = 0;  // Changes that a log refused which had failed.

  // Counts what another schedule has come to, too.
  void add(const BranchOutcome& more) {
    changes += more.changes;
    publishes += more.publishes;
    kills += more.kills;
    power_losses += more.power_losses;
    lost += more.lost;
    failures += more.failures;
  }
};

// A branch of a volume is changed and published in virtual time, while readers, taggers and gcs
// work on the volume, its process is killed at any write to its disk, stands still, and has no
// store, and the disk loses power, fails and is full. What must hold beside what Oracle says:
//   1. what the log had promised is there in the next life, and nothing that was never there;
//   2. a version is the branch as it was at one barrier;
//   3. without faults all that was committed is published in the end.
BranchOutcome run_branch_schedule(std::uint64_t seed, bool told);

}  // namespace runnel::volume_sim
