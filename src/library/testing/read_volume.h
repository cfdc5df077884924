#pragma once

#include <memory>
#include <optional>
#include <string>

#include "library/testing/stored_volume.h"
#include "library/version_reader.h"
#include "volume/pack_cache.h"

namespace runnel::library::testing {

// The newest version of a stored volume, with a reader on the volume's own loop.
class ReadVolume {
 public:
  static constexpr std::size_t kMemory = 64 << 20;

  explicit ReadVolume(StoredVolume& stored)
      : stored_(stored),
        volume_(stored.open()),
        snapshot_(stored.run(volume_.snapshot("latest"))),
        cache_(stored.loop(), volume_.ranges(),
               {.memory = std::make_shared<volume::ReaderMemory>(kMemory)}, {}),
        reader_(snapshot_, cache_) {}
  ~ReadVolume() { MUST(stored_.loop().block_on(cache_.close())); }
  ReadVolume(const ReadVolume&) = delete;
  ReadVolume& operator=(const ReadVolume&) = delete;

  volume::Snapshot& snapshot() { return snapshot_; }
  VersionReader& reader() { return reader_; }
  template <typename T>
  T run(Async<T> work) {
    return stored_.run(std::move(work));
  }

 private:
  StoredVolume& stored_;
  volume::Volume volume_;
  volume::Snapshot snapshot_;
  volume::PackCache cache_;
  VersionReader reader_;
};

}  // namespace runnel::library::testing
