#include "volume/disk_cache.h"

#include <algorithm>
#include <coroutine>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/driver.h"
#include "async/together.h"
#include "async/virtual/process.h"
#include "base/agenda.h"
#include "base/split_mix.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "volume/cache_table.h"

namespace runnel::volume {
namespace {

const Bytes kCacheSize = Bytes::mebi(192);  // Three segments.

VolumeKey volume_key(char name) {
  VolumeKey key;
  key.fill(name);
  return key;
}

class DiskCacheTest : public ::testing::Test {
 protected:
  ~DiskCacheTest() override { close(); }

  void open(Bytes bytes = kCacheSize) {
    close();
    cache_ = MUST(loop_->block_on(DiskCache::open(*loop_, {folder_, bytes})));
  }
  void close() {
    if (cache_) MUST(loop_->block_on(cache_->close()));
    cache_.reset();
  }
  Error refusal() {
    const auto opened = loop_->block_on(DiskCache::open(*loop_, {folder_, kCacheSize}));
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error(Errc::kInternal, "") : opened.error();
  }
  static ObjectRange range(char object, std::uint64_t length) {
    ObjectRange all;
    all.object.bytes.fill(object);
    all.offset = 12'345;
    all.length = length;
    return all;
  }
  static std::string content(char object, std::uint64_t length) {
    SplitMix64 numbers(static_cast<std::uint64_t>(object));
    std::string bytes(length, '\0');
    for (std::size_t at = 0; at + sizeof(std::uint64_t) <= bytes.size();
         at += sizeof(std::uint64_t)) {
      const std::uint64_t number = numbers.next();
      std::memcpy(bytes.data() + at, &number, sizeof number);
    }
    return bytes;
  }
  void keep(char object, std::uint64_t length) {
    auto bytes = std::make_shared<env::AlignedBytes>(length);
    const std::string all = content(object, length);
    std::copy(all.begin(), all.end(), bytes->span().begin());
    const bool is_taken = cache_->keep(volume_, range(object, length), std::move(bytes));
    written();
    // A busy machine takes its time.
    for (int looks = 0; is_taken && looks < 500; ++looks) {
      if (cache_->find(volume_, range(object, length))) return;
      written();
    }
  }
  void written() { MUST(loop_->block_on(loop_->sleep(Duration::millis(20)))); }
  std::string read(char object, std::uint64_t length) {
    const auto slot = cache_->find(volume_, range(object, length));
    if (!slot) return "not there";
    const auto bytes = loop_->block_on(cache_->read(*slot, range(object, length)));
    return bytes.ok() ? std::string((*bytes)->view()) : bytes.error().to_string();
  }

  const VolumeKey volume_ = volume_key('v');
  env::testing::TemporaryDirectory temporary_;
  const std::string folder_ = temporary_.path() + "/cache";
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<DiskCache> cache_;
};

TEST_F(DiskCacheTest, KeepsRangesAlsoForTheNextProcess) {
  open();
  keep('a', 1'000'000);
  keep('b', 5'001);
  EXPECT_EQ(read('a', 1'000'000), content('a', 1'000'000));
  open();
  EXPECT_EQ(read('a', 1'000'000), content('a', 1'000'000));
  EXPECT_EQ(read('b', 5'001), content('b', 5'001));
  EXPECT_FALSE(cache_->has(volume_key('w'), range('a', 10)));
  keep('c', 100);
  open();
  EXPECT_EQ(read('a', 1'000'000), content('a', 1'000'000));
  EXPECT_EQ(read('c', 100), content('c', 100));
}

TEST_F(DiskCacheTest, HasNeverMoreThanItMay) {
  open();
  for (char object = 'a'; object <= 'z'; ++object) keep(object, 20 << 20);
  EXPECT_LE(cache_->bytes(), static_cast<std::uint64_t>(kCacheSize.count()));
  std::uint64_t on_disk = 0;
  for (const std::string& name : MUST(env::list_directory(folder_))) {
    on_disk += std::filesystem::file_size(folder_ + "/" + name);
  }
  EXPECT_LE(on_disk, static_cast<std::uint64_t>(kCacheSize.count()) + 100);
  EXPECT_TRUE(read('z', 20 << 20) == content('z', 20 << 20)) << "it is too long to be shown";
  open(Bytes::mebi(128));
  EXPECT_LE(MUST(env::list_directory(folder_)).size(), 4U) << "one segment less";
}

TEST_F(DiskCacheTest, WhatIsDroppedIsGoneForTheNextProcessToo) {
  open();
  keep('a', 5'000);
  keep('b', 5'000);
  cache_->drop(*cache_->find(volume_, range('a', 5'000)));
  EXPECT_FALSE(cache_->has(volume_, range('a', 10)));
  written();
  open();
  EXPECT_FALSE(cache_->has(volume_, range('a', 10)));
  EXPECT_EQ(read('b', 5'000), content('b', 5'000));
}

// Keeps one range after another, so that there is always one to be written.
Async<void> keep_for_ever(async::EventLoop& loop, DiskCache& cache, const bool& is_over) {
  const VolumeKey volume = volume_key('v');
  auto bytes = std::make_shared<env::AlignedBytes>(100'000);
  for (std::uint64_t place = 0; !is_over && place < 5'000;) {
    ObjectRange range;
    range.offset = place * 100'000;
    range.length = bytes->size();
    if (cache.keep(volume, range, bytes)) ++place;
    if (!cache.is_writing()) co_return Error(Errc::kInternal, "all is written meanwhile");
    CO_TRY(co_await loop.yield());
  }
  if (!is_over) co_return Error(Errc::kTimeout, "what came later was waited for");
  co_return {};
}

Async<void> settle(DiskCache& cache, bool& is_over) {
  const Result<void> settled = co_await cache.settle();
  is_over = true;
  co_return settled;
}

TEST_F(DiskCacheTest, WhatIsKeptLaterIsNotWaitedFor) {
  open();
  keep('a', 1'000'000);
  bool is_over = false;
  std::vector<Async<void>> both;
  both.push_back(keep_for_ever(*loop_, *cache_, is_over));
  both.push_back(settle(*cache_, is_over));
  MUST(loop_->block_on(async::when_all(*loop_, std::move(both))));
}

// Else readers, who keep what they read without waiting, would always be first.
TEST_F(DiskCacheTest, WhoWaitsHasRoomBesideThoseWhoDoNot) {
  open();
  constexpr std::uint64_t kBytes = 1 << 20;
  const auto bytes = std::make_shared<env::AlignedBytes>(kBytes);
  std::uint64_t offset = 0;
  const auto keep_next = [&](DiskCache::Waits waits) {
    ObjectRange next;
    next.offset = offset;
    next.length = kBytes;
    offset += kBytes;
    return cache_->keep(volume_, next, bytes, waits);
  };
  std::uint64_t kept = 0;
  while (keep_next(DiskCache::Waits::kNo)) kept += kBytes;
  EXPECT_EQ(kept, DiskCache::kWritingMax - DiskCache::kWaitedFor);
  kept = 0;
  while (keep_next(DiskCache::Waits::kYes)) kept += kBytes;
  EXPECT_EQ(kept, DiskCache::kWaitedFor);
}

TEST_F(DiskCacheTest, WhoWaitsForTheDiskCanBeStopped) {
  open();
  async::StopSource stop;
  auto bytes = std::make_shared<env::AlignedBytes>(1'000'000);
  ASSERT_TRUE(cache_->keep(volume_, range('a', 1'000'000), bytes));
  stop.stop();
  EXPECT_EQ(loop_->block_on(cache_->settle(stop.token())).error().code, Errc::kCancelled);
}

// A machine that has no thread left after the first.
class OneThread final : public async::Driver {
 public:
  void post(Action action) override { inner_->post(std::move(action)); }
  void resume(std::coroutine_handle<> waiting) override { inner_->resume(waiting); }
  std::unique_ptr<Timer> timer() override { return inner_->timer(); }
  Result<std::unique_ptr<Thread>> thread(const std::string& name) override {
    if (has_one_) return Error(Errc::kUnavailable, "no thread is left");
    has_one_ = true;
    return inner_->thread(name);
  }
  void run() override { inner_->run(); }
  void stop() override { inner_->stop(); }
  bool on_thread() const override { return inner_->on_thread(); }

 private:
  bool has_one_ = false;
  Agenda agenda_;
  std::unique_ptr<async::Driver> inner_ =
      std::make_unique<async::VirtualProcess>(agenda_, async::VirtualOptions{});
};

TEST_F(DiskCacheTest, WithoutAThreadToReadWithItIsNotOpened) {
  async::EventLoop loop(std::make_unique<OneThread>());
  EXPECT_EQ(loop.block_on(DiskCache::open(loop, {folder_, kCacheSize})).error().code,
            Errc::kUnavailable);
  open();
}

TEST_F(DiskCacheTest, RefusesWhatIsNotItsOwn) {
  open();
  EXPECT_EQ(refusal().code, Errc::kConflict);
  close();
  MUST(env::write_file_atomically(folder_ + "/format", "runnel cache 999\n"));
  EXPECT_EQ(refusal().code, Errc::kUnsupported);
  MUST(env::remove_file(folder_ + "/format"));
  MUST(env::write_file_atomically(folder_ + "/thesis.tex", "precious"));
  const Error error = refusal();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_NE(error.message.find("thesis.tex"), std::string::npos);
}

TEST_F(DiskCacheTest, IsTooSmallBelowTwoSegments) {
  const auto opened = loop_->block_on(DiskCache::open(*loop_, {folder_, Bytes::mebi(100)}));
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("128 MiB"), std::string::npos);
}

TEST_F(DiskCacheTest, ATableEndsBeforeWhatIsDamaged) {
  CacheSlot slot{volume_key('v'), range('a', 100), 3, 0, 8'192};
  CacheSlot next = slot;
  next.number = 1;
  const std::string entry = encode_cache_entry(slot);
  ASSERT_EQ(entry.size(), kCacheEntryBytes);
  EXPECT_EQ(decode_cache_table(entry + entry, 3), (std::vector<CacheSlot>{slot, next}));
  EXPECT_EQ(decode_cache_table(encode_dropped_entry(slot) + entry, 3),
            std::vector<CacheSlot>{next});
  for (std::size_t at = 0; at < entry.size(); ++at) {
    std::string damaged = entry + entry;
    damaged[entry.size() + at] ^= 1;
    EXPECT_EQ(decode_cache_table(damaged, 3).size(), 1U) << at;
  }
  EXPECT_TRUE(decode_cache_table(std::string(CacheMap::kTableBytes, '\0'), 3).empty());
}

}  // namespace
}  // namespace runnel::volume
