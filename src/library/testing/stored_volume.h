#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "env/testing/temporary_directory.h"
#include "object/open_store.h"
#include "volume/gc.h"
#include "volume/volume.h"

namespace runnel::library::testing {

// A volume `data` in a store that is a folder of its own, and the files that are put into it.
//
// Threads: one.
class StoredVolume {
 public:
  StoredVolume();
  ~StoredVolume();
  StoredVolume(const StoredVolume&) = delete;
  StoredVolume& operator=(const StoredVolume&) = delete;

  void write(const std::string& name, const std::string& bytes);
  void link(const std::string& target, const std::string& name);
  void remove(const std::string& name);
  // Puts what was written as the next version, whose id it gives.
  std::string put();
  async::EventLoop& loop() { return *loop_; }
  // The volume as it is now.
  volume::Volume open() { return run(volume::Volume::open(context(), "data")); }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  // What versions go that have no tag, but for the newest.
  volume::GcResult collect_all();

  std::string url() const { return "file://" + store_folder(); }
  std::string store_folder() const { return temporary_.file("store"); }
  // Names of objects of a kind: "s" for sessions, "p" for packs.
  std::vector<std::string> objects(const std::string& kind) const;
  std::string path_of(const std::string& kind, const std::string& name) const;
  const std::map<std::string, std::string>& files() const { return files_; }
  std::string file(const std::string& name) const { return temporary_.file(name); }

 private:
  volume::VolumeContext context();

  env::testing::TemporaryDirectory temporary_;
  const std::string source_ = temporary_.file("source");
  std::map<std::string, std::string> files_;
  std::unique_ptr<async::EventLoop> loop_;
  std::unique_ptr<object::OpenedStore> store_;
};

// Bytes that no compression makes shorter.
std::string noise(std::size_t size, std::uint64_t seed);

}  // namespace runnel::library::testing
