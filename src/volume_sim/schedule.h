#pragma once

#include <cstdint>
#include <string>

namespace runnel::volume_sim {

// What became of a schedule.
struct Outcome {
  std::string violation;   // Empty: none.
  std::uint64_t hash = 0;  // Of all that happened to the bucket: the same for the same seed.
  std::int64_t publishes = 0;
  std::int64_t collections = 0;  // Lists of garbage that were condemned.
  std::int64_t kills = 0;
  std::int64_t freezes = 0;
  std::int64_t clones = 0;       // That were made.
  std::int64_t deletions = 0;    // Of volumes, that were done.
  std::int64_t resumptions = 0;  // Of puts that were killed.
  std::int64_t attempts = 0;     // That have begun a branch.
  std::int64_t merges = 0;       // Of branches, each for itself.

  // Counts what another schedule has come to, too.
  void add(const Outcome& more) {
    publishes += more.publishes;
    collections += more.collections;
    kills += more.kills;
    freezes += more.freezes;
    clones += more.clones;
    deletions += more.deletions;
    resumptions += more.resumptions;
    attempts += more.attempts;
    merges += more.merges;
  }
};

// Runs puts, removals, readers, taggers and gcs of one volume, or of three that are created, cloned
// and deleted, too, beside each other in virtual time, over a network that loses, delays and
// doubles requests, while processes are killed and stopped and clocks are put right and wrong.
// `told`: each change of the bucket goes to stdout.
Outcome run_schedule(std::uint64_t seed, bool told);

// Attempts write branches of one volume, and these are merged, beside puts, removals, readers and
// gcs in the same way.
Outcome run_merge_schedule(std::uint64_t seed, bool told);

}  // namespace runnel::volume_sim
