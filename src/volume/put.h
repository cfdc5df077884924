#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "volume/pack.h"
#include "volume/put_source.h"
#include "volume/source_tree.h"
#include "volume/volume.h"

namespace runnel::volume {

struct PutProgress {
  std::int64_t files = 0;
  std::int64_t bytes = 0;   // Read, and those of objects that were linked.
  std::int64_t stored = 0;  // Bytes of packs that were put,
  std::int64_t reused = 0;  // and of those that an earlier run had put, which was interrupted.
};

struct PutOptions {
  static constexpr std::int64_t kPackBytesMin = 1 << 20;
  static constexpr std::int64_t kPackBytesMax = 128 << 20;

  std::string source;   // What is put, as the session names it.
  std::string into;     // The folder of the volume that the source goes to; "" is its root.
  bool mirror = false;  // What the source does not have, or has as another kind, goes.
  std::string message;
  std::uint64_t pack_bytes = kPackBytesTarget;       // A pack with as many is closed.
  std::function<void(const PutProgress&)> progress;  // After each batch; may be empty.
};

struct PutResult {
  Manifest manifest;
  PutProgress done;
  std::vector<std::string>
      passed_over;  // What is no file, folder or link, and what is_unfinished_name().
};

// Puts what a source has into the volume as its next version: reads, hashes and packs on a
// thread "volume-put", while packs before are on their way to the store. Chunks that the volume has
// are not put again, nor packs that a put of the same source on this machine has put which was
// interrupted: they are made again, and found by their hashes. kConflict as apply() has it.
Async<PutResult> put_from(async::EventLoop& loop, Volume& volume, std::unique_ptr<PutSource> source,
                          PutOptions options, async::StopToken stop);
// The same of a folder or file of this machine.
Async<PutResult> put_tree(async::EventLoop& loop, Volume& volume,
                          std::unique_ptr<SourceTree> source, PutOptions options,
                          async::StopToken stop);

}  // namespace runnel::volume
