#include "writing/content_store.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "volume/session.h"
#include "volume/testing/memory_volume.h"

namespace runnel::writing {
namespace {

using volume::testing::MemoryVolume;
using volume::testing::noise;

const std::string kPath = "file";

// A file of a volume that is changed in memory, and stored.
class ContentStoreTest : public ::testing::Test {
 protected:
  void put(const std::string& bytes) {
    data_.put({{kPath, bytes}});
    bytes_ = bytes;
    content_ = Content::of_base(bytes.size());
    base_.emplace(data_.run(data_.volume().snapshot("latest")));
  }
  void write(std::uint64_t offset, const std::string& bytes) {
    content_.write(offset, bytes.size(), {{DataFile::Kind::kSegment, 1}, log_.size()}, ++sequence_);
    log_ += bytes;
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(offset + bytes.size(), '\0');
    bytes_.replace(offset, bytes.size(), bytes);
  }
  void truncate(std::uint64_t size) {
    content_.truncate(size, ++sequence_);
    bytes_.resize(size, '\0');
  }

  struct Stored {
    StoredContent content;
    std::int64_t packed = 0;
  };
  // As it was committed by now.
  Stored store() {
    content_.commit(++sequence_);
    const Inode inode = data_.run(base_->at(kPath)).inode;
    async::EventLoop& loop = *data_.loop();
    data_.run(data_.volume().begin_writing(volume::session_of_this_process("mount")));
    const auto worker = MUST(async::Worker::create(loop, {.name = "test-store"}));
    volume::ExtentReader reader(loop, data_.volume().ranges(), {});
    volume::ChunkPacks packs(loop, data_.volume(), *base_, volume::kPackBytesTarget);
    ContentStore store(*base_, reader, packs, *worker,
                       [this](std::vector<DataRange> ranges) { return read(std::move(ranges)); });
    Stored stored;
    stored.content = data_.run(store.store(inode, content_));
    if (const auto ranges = ContentStore::ranges_of_short(content_)) {
      ++shorts_;
      const auto both = data_.run(store.store_shorts({*ranges, *ranges}));
      EXPECT_EQ(both.size(), 2U);
      for (const StoredContent& same : both) {
        EXPECT_EQ(same.hash, stored.content.hash) << "together as alone";
        EXPECT_EQ(same.extents, stored.content.extents);
      }
    }
    data_.run(packs.finish(*worker));
    packs.name(stored.content.extents);
    stored.packed = packs.stored();
    data_.run(packs.close());
    const std::vector<std::string> chunks = all(data_.run(reader.read(stored.content.extents)));
    data_.run(reader.close());
    data_.run(worker->stop());
    data_.run(data_.volume().end_session());
    std::string whole;
    for (const std::string& chunk : chunks) whole += chunk;
    EXPECT_TRUE(whole == bytes_) << whole.size() << " bytes of " << bytes_.size();
    volume::FileHash hash;
    hash.add(bytes_);
    EXPECT_EQ(stored.content.hash, hash.finish());
    return stored;
  }

  MemoryVolume data_;
  std::optional<volume::Snapshot> base_;
  Content content_;
  std::string bytes_;  // Of the file.
  std::string log_;    // That were written.
  Sequence sequence_ = 0;
  int shorts_ = 0;  // Files that were stored together with others, too.

 private:
  Async<std::vector<std::string>> read(std::vector<DataRange> ranges) {
    std::vector<std::string> all;
    all.reserve(ranges.size());
    for (const DataRange& range : ranges) {
      all.push_back(log_.substr(range.place.offset, range.length));
    }
    co_return all;
  }
  static std::vector<std::string> all(std::vector<Result<std::string>> chunks) {
    std::vector<std::string> bytes;
    for (Result<std::string>& chunk : chunks) bytes.push_back(MUST(std::move(chunk)));
    return bytes;
  }
};

TEST_F(ContentStoreTest, ShortFilesAreStoredTogetherAsTheyAreAlone) {
  put("");
  for (const std::size_t size : {std::size_t{1}, std::size_t{3'000}, std::size_t{256 << 10}}) {
    write(0, noise(size, size));
    (void)store();
  }
  EXPECT_EQ(shorts_, 3);
  truncate(300'000);
  (void)store();
  EXPECT_EQ(shorts_, 3) << "one with a hole is stored alone";
}

TEST_F(ContentStoreTest, AChangedPageCostsItsChunk) {
  put(noise(3 << 20, 1));
  write(1'500'000, noise(4'096, 2));
  EXPECT_LT(store().packed, 300 << 10);
}

TEST_F(ContentStoreTest, WhatIsAppendedCostsItself) {
  put(noise(3 << 20, 1));
  write(3 << 20, noise(100'000, 2));
  EXPECT_LT(store().packed, 110'000);
}

TEST_F(ContentStoreTest, AHoleCostsNothing) {
  put(noise(300'000, 1));
  truncate(50 << 20);
  const Stored stored = store();
  EXPECT_EQ(stored.packed, 0);
  EXPECT_TRUE(stored.content.extents.back().is_hole());
}

TEST_F(ContentStoreTest, ANewFileIsCutAsAPutCutsIt) {
  const std::string bytes = noise(20 << 20, 3);  // More than is read at once.
  put("");
  write(0, bytes);
  const Stored stored = store();
  MemoryVolume other(data_.loop());
  other.put({{kPath, bytes}});
  EXPECT_EQ(stored.content.hash, other.node(kPath).hash);
  std::vector<std::uint64_t> lengths;
  for (const volume::Extent& extent : stored.content.extents) lengths.push_back(extent.length);
  volume::Snapshot there = data_.run(other.volume().snapshot("latest"));
  const auto found = data_.run(there.at(kPath));
  std::vector<std::uint64_t> expected;
  for (const auto& extent : data_.run(there.extents(found.inode, found.node))) {
    expected.push_back(extent.length);
  }
  EXPECT_EQ(lengths, expected);
}

TEST_F(ContentStoreTest, AnyFileIsStoredAsItWasCommitted) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    SplitMix64 random(seed);
    put(noise(random.next() % (2 << 20), seed));
    for (std::uint64_t each = 1 + random.next() % 6; each > 0; --each) {
      const std::uint64_t at = random.next() % (bytes_.size() + 300'000);
      random.next() % 3 == 0 ? truncate(at) : write(at, noise(random.next() % 200'000, each));
    }
    store();
  }
}

}  // namespace
}  // namespace runnel::writing
