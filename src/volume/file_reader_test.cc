#include "volume/file_reader.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "object/memory/memory_store.h"
#include "object/metered_store.h"
#include "volume/folder_reader.h"
#include "volume/put.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kCacheBytes = 64 << 20;

class ReaderNumbers final : public env::Random {
 public:
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_{11};
};

std::string random_bytes(std::size_t size, std::uint64_t seed) {
  SplitMix64 numbers(seed);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
       at += sizeof(std::uint64_t)) {
    const std::uint64_t number = numbers.next();
    std::memcpy(bytes.data() + at, &number, sizeof number);
  }
  return bytes;
}

// A version of a volume, read anew with nothing in memory.
class FileReaderTest : public ::testing::Test {
 protected:
  ~FileReaderTest() override { close(); }

  void close() {
    if (cache_) MUST(loop_->block_on(cache_->close()));
    if (disk_) MUST(loop_->block_on(disk_->close()));
    reader_.reset();
    cache_.reset();
    disk_.reset();
  }

  void write(const std::string& name, const std::string& bytes) {
    const std::string path = source_.path() + "/" + name;
    MUST(env::make_directories(env::parent_of(path)));
    MUST(env::write_file_atomically(path, bytes));
    files_[name] = bytes;
  }
  void open() {
    {
      Volume volume = run(Volume::create(context(), "data"));
      run(put_tree(*loop_, volume, MUST(SourceTree::open(source_.path())), {}, {}));
    }
    volume_.emplace(run(Volume::open(context(), "data")));
    snapshot_.emplace(run(volume_->snapshot("latest")));
    open_reader();
  }
  // Nothing of the packs is in memory.
  void open_reader() {
    reader_.reset();
    cache_.emplace(*loop_, volume_->ranges(),
                   PackCache::Options{.memory = std::make_shared<ReaderMemory>(kCacheBytes),
                                      .disk = disk_.get()},
                   async::StopToken());
    reader_.emplace(*snapshot_, *cache_);
  }
  // As the next process has it, over the same folder.
  void open_reader_with_disk() {
    close();
    disk_ = run(DiskCache::open(*loop_, {cache_folder_.path() + "/cache", Bytes::mebi(256)}));
    open_reader();
  }
  void read_all() {
    for (const auto& [name, bytes] : files_) {
      ASSERT_EQ(read(inode(name), 0, bytes.size() + 1), bytes) << name;
    }
  }
  VolumeContext context() { return {store_, env::real_clock(), random_, {}}; }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  Inode inode(const std::string& name) { return run(snapshot_->at(name)).inode; }
  std::string read(Inode file, std::uint64_t offset, std::uint64_t length) {
    std::string bytes;
    for (const HeldBytes& piece : run(reader_->read(file, offset, length))) bytes += piece.bytes;
    return bytes;
  }
  std::int64_t requests() const { return store_.meter().requests(); }
  void damage_packs(std::size_t offset) {
    for (auto& [key, object] : memory_.objects()) {
      if (key.starts_with("data/p/")) object.bytes[offset] ^= 1;
    }
  }

  env::testing::TemporaryDirectory source_;
  env::testing::TemporaryDirectory cache_folder_;
  std::map<std::string, std::string> files_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  object::MeteredStore store_{memory_, env::real_clock()};
  ReaderNumbers random_;
  std::optional<Volume> volume_;
  std::optional<Snapshot> snapshot_;
  std::unique_ptr<DiskCache> disk_;
  std::optional<PackCache> cache_;
  std::optional<FileReader> reader_;
};

TEST_F(FileReaderTest, GivesAnyPartOfAFile) {
  write("empty", "");
  write("small", "hello");
  write("text", std::string(300'000, 'a') + random_bytes(1'000, 1) + std::string(400'000, 'b'));
  write("noise", random_bytes(3'000'000, 2));
  open();
  SplitMix64 numbers(7);
  for (const auto& [name, bytes] : files_) {
    const Inode file = inode(name);
    EXPECT_EQ(read(file, 0, bytes.size() + 1'000), bytes) << name;
    EXPECT_EQ(read(file, bytes.size(), 100), "") << name;
    EXPECT_EQ(read(file, bytes.size() + 5, 100), "") << name;
    for (int round = 0; round < 30 && !bytes.empty(); ++round) {
      const std::uint64_t offset = numbers.next() % bytes.size();
      const std::uint64_t length = numbers.next() % 200'000 + 1;
      EXPECT_EQ(read(file, offset, length), bytes.substr(offset, length)) << name << " " << offset;
    }
  }
  EXPECT_EQ(loop_->block_on(reader_->read(kRootInode, 0, 1)).error().code, Errc::kInvalid);
}

// A long file has many places, and a volume many files.
TEST_F(FileReaderTest, WhereBytesAreIsKeptInTheMemoryOfAll) {
  write("short", "hello");
  write("long", random_bytes(8'000'000, 3));
  open();
  MemoryBudget& layouts = cache_->memory().layouts;
  EXPECT_EQ(read(inode("short"), 0, 10), "hello");
  const std::size_t of_short = layouts.size();
  EXPECT_GT(of_short, 0U);
  read(inode("long"), 0, 1);
  EXPECT_GT(layouts.size(), 5 * of_short) << "each chunk counts";
  for (int looks = 0; looks < 2; ++looks) layouts.drop_unused(1);
  EXPECT_EQ(layouts.size(), 0U);
  read_all();
}

TEST_F(FileReaderTest, SmallFilesComeWithTheirNeighbours) {
  for (int number = 0; number < 1'000; ++number) {
    write("f/" + std::to_string(number), random_bytes(12'000, static_cast<std::uint64_t>(number)));
  }
  open();
  const std::int64_t before = requests();
  run(snapshot_->node(kRootInode));
  EXPECT_EQ(requests() - before, 1) << "the whole index is one request";
  // In any order.
  for (int number = 0; number < 1'000; ++number) {
    const std::string name = "f/" + std::to_string(number * 777 % 1'000);
    ASSERT_EQ(read(inode(name), 0, 20'000), files_[name]);
  }
  EXPECT_LE(requests() - before, 1 + 3) << "12 MB in parts of 8 MiB, of one pack or two";
}

TEST_F(FileReaderTest, TheNextPartComesAheadOfWhoReadsSmallFilesInOrder) {
  const auto name = [](int number) { return "f/" + std::to_string(10'000 + number); };
  for (int number = 0; number < 2'000; ++number) {
    write(name(number), random_bytes(12'000, static_cast<std::uint64_t>(number)));
  }
  open();
  const auto requests_of = [&](const std::vector<int>& numbers) {
    const std::int64_t before = requests();
    for (const int number : numbers) {
      EXPECT_EQ(read(inode(name(number)), 0, 20'000), files_[name(number)]);
    }
    MUST(loop_->block_on(loop_->sleep(Duration::millis(50))));
    return requests() - before;
  };
  requests_of({0});
  EXPECT_EQ(requests_of({1, 2}), 1) << "the next 8 MiB";
  EXPECT_EQ(requests_of({800, 1'300}), 0) << "are here";
  EXPECT_EQ(requests_of({801, 802}), 1) << "where it is read on";
  open_reader();
  requests_of({0});
  EXPECT_EQ(requests_of({500, 100, 300}), 0) << "who reads in no order needs nothing more";
}

TEST_F(FileReaderTest, LongFilesComeAheadOfTheirReader) {
  write("long", random_bytes(24 << 20, 3));
  open();
  const Inode file = inode("long");
  read(file, 0, 1);
  const std::int64_t before = requests();
  const std::string& bytes = files_["long"];
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += 128 << 10) {
    ASSERT_EQ(read(file, offset, 128 << 10), bytes.substr(offset, 128 << 10));
  }
  EXPECT_LE(requests() - before, 12) << "few and large parts";
}

// What comes ahead of a reader goes when he pauses, or others need the room.
TEST_F(FileReaderTest, WhatHadToGoComesAheadOfItsReaderAgain) {
  write("long", random_bytes(32 << 20, 3));
  open();
  const Inode file = inode("long");
  constexpr std::uint64_t kRead = 128 << 10;
  std::uint64_t offset = 0;
  for (; offset < 8 << 20; offset += kRead) read(file, offset, kRead);
  MUST(loop_->block_on(loop_->sleep(Duration::millis(20))));
  cache_->memory().packs.drop_unused(0);
  ASSERT_EQ(cache_->bytes(), 0U);
  const std::int64_t before = requests();
  for (; offset < 16 << 20; offset += kRead) {
    ASSERT_EQ(read(file, offset, kRead), files_["long"].substr(offset, kRead));
  }
  EXPECT_LE(requests() - before, 12) << "parts of 4 MiB, and not a request for each read";
}

// Who reads slower than what is ahead of him goes.
TEST_F(FileReaderTest, ASlowReaderFetchesLittleTwice) {
  write("long", random_bytes(96 << 20, 3));
  open();
  const Inode file = inode("long");
  constexpr std::uint64_t kStep = 2 << 20;
  const std::int64_t before = store_.meter().read.bytes;
  for (std::uint64_t offset = 0; offset < 96 << 20; offset += kStep) {
    ASSERT_EQ(read(file, offset, kStep), files_["long"].substr(offset, kStep));
    MUST(loop_->block_on(loop_->sleep(Duration::millis(2))));
    cache_->memory().packs.drop_unused(3);
  }
  EXPECT_LE(store_.meter().read.bytes - before, (96 << 20) * 3 / 2);
}

TEST_F(FileReaderTest, WhoJumpsAboutFetchesLittle) {
  write("long", random_bytes(24 << 20, 3));
  open();
  const Inode file = inode("long");
  SplitMix64 numbers(3);
  read(file, 12 << 20, 1);
  const std::int64_t before = store_.meter().read.bytes;
  for (int round = 0; round < 20; ++round) {
    const std::uint64_t offset = numbers.next() % (24 << 20);
    EXPECT_EQ(read(file, offset, 4'096), files_["long"].substr(offset, 4'096));
  }
  EXPECT_LE(store_.meter().read.bytes - before, 20 * 2 * static_cast<std::int64_t>(kBlockBytes));
}

TEST_F(FileReaderTest, DamageIsAnErrorAndNeverOtherBytes) {
  write("noise", random_bytes(200'000, 2));
  write("text", std::string(500'000, 'a'));
  open();
  damage_packs(70'000);
  int failed = 0;
  for (std::size_t offset = 0; offset < 200'000; offset += 10'000) {
    const auto pieces = loop_->block_on(reader_->read(inode("noise"), offset, 10'000));
    if (!pieces.ok()) {
      ++failed;
      EXPECT_EQ(pieces.error().code, Errc::kCorrupt);
      EXPECT_LT(offset, 2 * kBlockBytes) << "the block that is damaged";
      EXPECT_GT(offset + 10'000, kBlockBytes);
    } else {
      EXPECT_EQ(pieces->front().bytes,
                files_["noise"].substr(offset, pieces->front().bytes.size()));
    }
  }
  EXPECT_GT(failed, 0);
}

TEST_F(FileReaderTest, WhatIsOnTheDiskIsNotFetched) {
  for (int number = 0; number < 300; ++number) {
    write("f/" + std::to_string(number), random_bytes(3'000, static_cast<std::uint64_t>(number)));
  }
  write("long", random_bytes(20 << 20, 3));
  open();
  open_reader_with_disk();
  read_all();
  EXPECT_GT(cache_->counts().fetches, 0);
  open_reader_with_disk();
  for (auto& [key, object] : memory_.objects()) {
    if (key.starts_with("data/p/")) object.bytes.clear();
  }
  read_all();
  EXPECT_EQ(cache_->counts().fetches, 0) << "nothing is asked of the store";
  EXPECT_GT(cache_->counts().disk_bytes, 20 << 20);
}

TEST_F(FileReaderTest, WhatIsOnTheDiskComesAheadOfItsReader) {
  write("long", random_bytes(24 << 20, 3));
  open();
  open_reader_with_disk();
  read_all();
  open_reader_with_disk();
  const Inode file = inode("long");
  for (std::uint64_t offset = 0; offset < 4 << 20; offset += 128 << 10) {
    read(file, offset, 128 << 10);
  }
  run(loop_->sleep(Duration::millis(300), {}));
  EXPECT_GT(cache_->bytes(), 12U << 20) << "it has read 4 MiB of them";
  EXPECT_EQ(cache_->counts().fetches, 0);
}

TEST_F(FileReaderTest, WhatTheDiskHasChangedIsFetchedAgain) {
  write("text", std::string(500'000, 'a') + random_bytes(100, 3));
  write("long", random_bytes(3 << 20, 3));
  open();
  open_reader_with_disk();
  read_all();
  close();
  const std::string segment = cache_folder_.path() + "/cache/segment-0";
  std::fstream file(segment, std::ios::in | std::ios::out | std::ios::binary);
  for (int place = 0; place < 4 << 20; place += 10'000) file.seekp(place).put('?');
  file.close();
  open_reader_with_disk();
  read_all();
  EXPECT_GT(cache_->counts().distrusted, 0);
  open_reader_with_disk();
  read_all();
  EXPECT_EQ(cache_->counts().distrusted, 0) << "it was kept anew";
}

TEST_F(FileReaderTest, FoldersAreListedFromAnyPlace) {
  std::vector<std::string> names;
  for (int number = 0; number < 300; ++number) {
    names.push_back(std::to_string(number));
    write(names.back(), "x");
  }
  std::sort(names.begin(), names.end());
  open();
  FolderReader folders(*snapshot_);
  const auto name_at = [&](std::uint64_t number) -> std::string {
    const auto entries = run(folders.list(kRootInode, number, 1));
    return entries.empty() ? "" : entries.front().name;
  };
  const auto first = run(folders.list(kRootInode, 0, 100));
  ASSERT_EQ(first.size(), 100U);
  folders.remember(kRootInode, 100, first.back().name);
  EXPECT_EQ(name_at(100), names[100]);
  EXPECT_EQ(name_at(99), names[99]) << "back";
  EXPECT_EQ(name_at(250), names[250]) << "and far ahead";
  EXPECT_EQ(name_at(0), names[0]);
  EXPECT_EQ(name_at(299), names[299]);
  EXPECT_EQ(name_at(300), "");
  EXPECT_EQ(name_at(1'000), "");
}

}  // namespace
}  // namespace runnel::volume
