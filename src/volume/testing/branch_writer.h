#pragma once

#include <cstdint>
#include <string>

#include "volume/edit.h"
#include "volume/testing/memory_volume.h"
#include "volume/volume.h"

namespace runnel::volume::testing {

// Publishes these contents in the volume's branch, with what else the edit changes.
Async<Manifest> publish_contents(async::EventLoop& loop, Volume& volume, Contents written,
                                 Edit edit, bool sealed);

// Who writes a branch of a volume, as a process of its own. What is changed is there once it is
// published.
class BranchWriter {
 public:
  BranchWriter(MemoryVolume& data, const std::string& name,
               const Processes& processes = real_processes(), std::int64_t term = 1);

  // Makes or replaces; an empty folder by a path that ends with '/'.
  void write(const std::string& path, const std::string& bytes) { written_[path] = bytes; }
  // A link, which has no chunks.
  void link(const std::string& path, const std::string& target);
  void remove(const std::string& path);
  // What was changed since the last call.
  Result<Manifest> try_publish(bool sealed = false);
  Manifest publish() { return MUST(try_publish()); }
  Manifest seal() { return MUST(try_publish(true)); }
  Result<void> try_beat();
  Contents contents();
  Volume& volume() { return volume_; }

 private:
  MemoryVolume& data_;
  Volume volume_;
  Contents written_;
  Edit edit_ = Edit::folder();
};

}  // namespace runnel::volume::testing
