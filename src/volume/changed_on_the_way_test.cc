// What a network changes once is read again: nobody sees it, and nothing wrong is given.
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/chunk_read.h"
#include "volume/file_reader.h"
#include "volume/fsck.h"
#include "volume/get.h"
#include "volume/put.h"

namespace runnel::volume {
namespace {

// The first answer about each object has one wrong bit, at its beginning.
class ChangingStore final : public object::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Async<object::Object> get(std::string key, std::int64_t limit, async::StopToken stop) override {
    Result<object::Object> got = co_await inner().get(key, limit, std::move(stop));
    if (got.ok() && changes(key)) got->bytes.front() ^= 1;
    co_return got;
  }
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    Result<void> done = co_await inner().read(key, stamp, offset, into, std::move(stop));
    if (done.ok() && changes(key)) into.front() ^= 1;
    co_return done;
  }

  int changed = 0;

 private:
  bool changes(const std::string& key) {
    const bool is_first = seen_.insert(key).second;
    if (is_first) ++changed;
    return is_first;
  }

  std::set<std::string> seen_;
};

class DrawnNumbers final : public env::Random {
 public:
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_{29};
};

// A volume of two files, whose store is asked over a network that changes what it answers.
class ChangedOnTheWay : public ::testing::Test {
 protected:
  static constexpr std::size_t kLong = 3'000'000;

  ChangedOnTheWay() {
    write("long", long_);
    write("short", "a few bytes");
    Volume volume = run(Volume::create(context(memory_), "data"));
    run(put_tree(*loop_, volume, MUST(SourceTree::open(source_.path())), {}, {}));
    volume_.emplace(run(Volume::open(context(network_), "data")));
  }

  void write(const std::string& name, const std::string& bytes) {
    MUST(env::write_file_atomically(source_.path() + "/" + name, bytes));
  }
  static std::string noise() {
    SplitMix64 numbers(3);
    std::string bytes(kLong, '\0');
    for (char& byte : bytes) byte = static_cast<char>(numbers.next());
    return bytes;
  }
  VolumeContext context(object::ObjectStore& store) {
    return {store, env::real_clock(), random_, {}};
  }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }

  const std::string long_ = noise();
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  env::testing::TemporaryDirectory source_;
  DrawnNumbers random_;
  object::MemoryStore memory_;
  ChangingStore network_{memory_};
  std::optional<Volume> volume_;
};

TEST_F(ChangedOnTheWay, TheHeadIsReadAgain) { EXPECT_EQ(network_.changed, 1); }

TEST_F(ChangedOnTheWay, AGetWritesWhatWasPut) {
  const env::testing::TemporaryDirectory copy;
  run(get_tree(*loop_, *volume_, "latest", "", copy.path(), {}, {}));
  EXPECT_EQ(MUST(env::read_file(copy.path() + "/long")), long_);
  EXPECT_EQ(MUST(env::read_file(copy.path() + "/short")), "a few bytes");
  EXPECT_GE(network_.changed, 3) << "head, index, pack";
}

TEST_F(ChangedOnTheWay, OneFileIsPrinted) {
  Snapshot snapshot = run(volume_->snapshot("latest"));
  const Snapshot::Found found = run(snapshot.at("long"));
  const auto extents = run(snapshot.extents(found.inode, found.node));
  EXPECT_EQ(run(read_bytes({network_, volume_->prefix()}, extents, 0, kLong, {})), long_);
}

TEST_F(ChangedOnTheWay, AMountReadsWhatWasPut) {
  Snapshot snapshot = run(volume_->snapshot("latest"));
  PackCache cache(*loop_, {network_, volume_->prefix()},
                  {.memory = std::make_shared<ReaderMemory>(64 << 20)}, {});
  FileReader reader(snapshot, cache);
  const Snapshot::Found found = run(snapshot.at("long"));
  std::string bytes;
  for (const HeldBytes& piece : run(reader.read(found.inode, 0, kLong))) bytes += piece.bytes;
  EXPECT_EQ(bytes, long_);
  EXPECT_EQ(cache.counts().distrusted, 1);
  run(cache.close());
}

TEST_F(ChangedOnTheWay, NothingIsCalledDamaged) {
  const FsckResult result = run(check_volume(*loop_, *volume_, {}, {}));
  EXPECT_TRUE(result.damages.empty());
  EXPECT_EQ(result.files, 2);
  EXPECT_GE(network_.changed, 4) << "head, manifest, index, pack";
}

}  // namespace
}  // namespace runnel::volume
