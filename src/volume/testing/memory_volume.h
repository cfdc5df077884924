#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/memory/memory_store.h"
#include "volume/put.h"
#include "volume/volume.h"

namespace runnel::volume::testing {

// Contents of files, by path. One that ends with '/' is a folder without any.
using Contents = std::map<std::string, std::string>;

// A volume in memory, with a loop of its own unless it is to share one.
class MemoryVolume {
 public:
  MemoryVolume() : MemoryVolume(MUST(async::EventLoop::create())) {}
  // `others`: the stores of linked objects.
  explicit MemoryVolume(std::shared_ptr<async::EventLoop> loop,
                        object::StoreFinder* others = nullptr);
  // A clone of a version, beside its origin.
  MemoryVolume(MemoryVolume& origin, const std::string& version, const std::string& name);

  template <typename T>
  Result<T> try_run(Async<T> work) {
    return loop_->block_on(std::move(work));
  }
  template <typename T>
  T run(Async<T> work) {
    return MUST(try_run(std::move(work)));
  }

  PutResult put(const Contents& files, PutOptions options = {});
  // Everything of a version, as it was put.
  Contents contents(const std::string& version = "latest");
  Contents contents(Snapshot snapshot);
  Result<std::string> try_content(const std::string& path, const std::string& version = "latest");
  std::string content(const std::string& path, const std::string& version = "latest");
  Node node(const std::string& path, const std::string& version = "latest");
  Manifest newest();
  std::int64_t objects(const std::string& kind);  // "p/"

  const std::shared_ptr<async::EventLoop>& loop() { return loop_; }
  object::MemoryStore& store() { return *store_; }
  env::Random& random() { return random_; }
  Volume& volume() { return volume_; }

 private:
  class Numbers final : public env::Random {
   public:
    explicit Numbers(std::uint64_t seed) : numbers_(seed) {}
    std::uint64_t next() override { return numbers_.next(); }

   private:
    SplitMix64 numbers_;
  };

  Async<Contents> contents_of(Snapshot snapshot, Inode folder, std::string path);

  std::shared_ptr<async::EventLoop> loop_;      // Also of volumes beside it.
  std::shared_ptr<object::MemoryStore> store_;  // Also of clones.
  Numbers random_;
  Volume volume_;
};

// Bytes that neither compress nor repeat.
std::string noise(std::size_t size, std::uint64_t seed);

// Files as a put reads them, in the order of their paths.
std::unique_ptr<SourceTree> source_of_contents(const Contents& files);

}  // namespace runnel::volume::testing
