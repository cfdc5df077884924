#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "volume/volume.h"

namespace runnel::volume {

struct FsckOptions {
  // Where content is damaged, let later puts store it anew: the newest version's tree of chunks
  // forgets it.
  bool repair = false;
  struct Progress {
    std::int64_t files = 0;
    std::int64_t bytes = 0;
  };
  std::function<void(const Progress&)> progress;  // After each batch; may be empty.
};

// Something of a version that cannot be had, or is not what was put.
struct Damage {
  std::string version;
  std::string path;  // "" when it is the version itself: its manifest, or a part of its index.
  std::string what;  // A sentence.
  bool is_linked = false;  // It is of an object of another bucket.
};

struct FsckResult {
  std::vector<Damage> damages;  // Each file once, under the newest version that has it.
  std::string newest;           // Version; none: there is none.
  std::int64_t versions = 0;    // Looked at: those of the head.
  std::int64_t files = 0;       // Read and compared with their hashes.
  std::int64_t bytes = 0;
  std::int64_t forgotten = 0;  // Chunks, by `repair`.
};

// Reads all that the versions of the head have and compares it with what they say: manifests and
// pages by SHA-256, files by their hashes. Nothing is changed, but by `repair`.
//
// Errors: those of the store, kCorrupt for a head that cannot be read. What is damaged below is no
//         error but told.
Async<FsckResult> check_volume(async::EventLoop& loop, Volume& volume, FsckOptions options,
                               async::StopToken stop);

}  // namespace runnel::volume
