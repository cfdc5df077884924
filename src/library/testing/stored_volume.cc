#include "library/testing/stored_volume.h"

#include <unistd.h>

#include <fstream>
#include <utility>

#include "base/check.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/random.h"
#include "object/store_url.h"
#include "volume/put.h"

namespace runnel::library::testing {

StoredVolume::StoredVolume() : loop_(MUST(async::EventLoop::create())) {
  store_ = MUST(object::OpenedStore::open(*loop_, env::real_clock(), env::real_random(),
                                          MUST(object::parse_store_url(url()))));
  MUST(env::make_directories(source_));
  (void)run(volume::Volume::create(context(), "data"));
}

StoredVolume::~StoredVolume() { MUST(loop_->block_on(store_->stop())); }

volume::VolumeContext StoredVolume::context() {
  return {store_->store(), env::real_clock(), env::real_random(), {}};
}

void StoredVolume::write(const std::string& name, const std::string& bytes) {
  const std::string path = source_ + "/" + name;
  MUST(env::make_directories(env::parent_of(path)));
  std::ofstream(path, std::ios::binary) << bytes;  // Without a sync, which is most of the time.
  files_[name] = bytes;
}

void StoredVolume::link(const std::string& target, const std::string& name) {
  const std::string path = source_ + "/" + name;
  MUST(env::make_directories(env::parent_of(path)));
  CHECK(::symlink(target.c_str(), path.c_str()) == 0, "cannot make a link");
}

void StoredVolume::remove(const std::string& name) {
  MUST(env::remove_file(source_ + "/" + name));
  files_.erase(name);
}

std::string StoredVolume::put() {
  volume::Volume volume = open();
  volume::PutOptions options;
  options.mirror = true;
  return run(volume::put_tree(*loop_, volume, MUST(volume::SourceTree::open(source_)),
                              std::move(options), {}))
      .manifest.version;
}

volume::GcResult StoredVolume::collect_all() {
  volume::Volume volume = open();
  const volume::GcOptions options{.keep = Duration::seconds(0), .wait = false};
  return run(volume::collect_garbage(*loop_, env::real_clock(), volume, options, {}));
}

std::vector<std::string> StoredVolume::objects(const std::string& kind) const {
  return env::list_directory(store_folder() + "/data/" + kind).value_or(std::vector<std::string>());
}

std::string StoredVolume::path_of(const std::string& kind, const std::string& name) const {
  return store_folder() + "/data/" + kind + "/" + name;
}

std::string noise(std::size_t size, std::uint64_t seed) {
  SplitMix64 numbers(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(numbers.next());
  return bytes;
}

}  // namespace runnel::library::testing
