#include "volume/pack_cache.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/together.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/object_id.h"

namespace runnel::volume {
namespace {

constexpr std::uint64_t kPackBytes = 1'000'000;
constexpr std::size_t kPackCacheBytes = 4 * env::AlignedBytes::rounded(100'000);

// A store that notes what is read, and takes its time.
class SlowReads final : public object::ForwardingStore {
 public:
  SlowReads(async::EventLoop& loop, object::ObjectStore& inner)
      : ForwardingStore(inner), loop_(loop) {}

  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    reads.push_back(static_cast<std::uint64_t>(offset));
    most = std::max(most, ++under_way_);
    const Result<void> slept = co_await loop_.sleep(pause, stop);
    --under_way_;
    CO_TRY(Result<void>(slept));
    co_return co_await ForwardingStore::read(std::move(key), std::move(stamp), offset, into,
                                             std::move(stop));
  }

  Duration pause = Duration::millis(1);
  std::vector<std::uint64_t> reads;  // Their offsets.
  int most = 0;                      // At one time.

 private:
  async::EventLoop& loop_;
  int under_way_ = 0;
};

// Another process that has ranges, as far as it is there.
class ServerOfLetters final : public PackServer {
 public:
  Async<bool> read(ObjectRange range, std::span<char> into, Wish wish,
                   async::StopToken /*stop*/) override {
    const bool is_anew = wish.freshness == Freshness::kAnew;
    (is_anew ? asked_anew : asked).push_back(range.offset);
    if (wish.urgency == Urgency::kExpected) expected.push_back(range.offset);
    if (is_away) co_return false;
    if (error) co_return *error;
    std::ranges::fill(into, is_anew ? 'n' : 's');
    co_return true;
  }

  std::vector<std::uint64_t> asked;
  std::vector<std::uint64_t> asked_anew;
  std::vector<std::uint64_t> expected;
  std::optional<Error> error;
  bool is_away = false;
};

Async<void> read_into_nothing(PackCache& cache, ObjectRange range) {
  (void)co_await cache.read(range, range);
  co_return {};
}

class PackCacheTest : public ::testing::Test {
 protected:
  PackCacheTest() {
    SplitMix64 numbers(5);
    for (char& c : pack_) c = static_cast<char>(numbers.next());
    id_ = ObjectId::of(pack_, "12345678");
    memory_.objects()["data/" + pack_key(id_)] = {pack_, "1"};
  }
  ~PackCacheTest() override { MUST(loop_->block_on(cache_.close())); }

  ObjectRange range(std::uint64_t offset, std::uint64_t length) const {
    return {id_, offset, length};
  }
  Async<HeldBytes> reading(std::uint64_t offset, std::uint64_t length) {
    return cache_.read(range(offset, length), range(offset, length));
  }
  std::string read(std::uint64_t offset, std::uint64_t length) {
    return std::string(MUST(loop_->block_on(reading(offset, length))).bytes);
  }
  std::string content(std::uint64_t offset, std::uint64_t length) const {
    return pack_.substr(offset, length);
  }

  std::string pack_ = std::string(kPackBytes, '\0');
  ObjectId id_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  SlowReads store_{*loop_, memory_};
  const std::shared_ptr<ReaderMemory> shared_ = std::make_shared<ReaderMemory>(kPackCacheBytes);
  PackCache cache_{*loop_, {store_, "data/"}, {.memory = shared_}, {}};
};

TEST_F(PackCacheTest, FetchesOnceWithWhatIsAround) {
  const HeldBytes held = MUST(loop_->block_on(cache_.read(range(500, 10), range(0, 100'000))));
  EXPECT_EQ(held.bytes, content(500, 10));
  EXPECT_EQ(read(99'000, 1'000), content(99'000, 1'000));
  EXPECT_EQ(store_.reads, std::vector<std::uint64_t>{0});
  EXPECT_EQ(read(99'500, 1'000), content(99'500, 1'000)) << "over the end of what is here";
  EXPECT_EQ(store_.reads.size(), 2U);
}

TEST_F(PackCacheTest, WhatIsOnItsWayIsNotAskedForAgain) {
  cache_.expect(range(0, 100'000), 1);
  std::vector<Async<HeldBytes>> readers;
  for (std::uint64_t offset = 0; offset < 100'000; offset += 10'000) {
    readers.push_back(reading(offset, 10'000));
  }
  const std::vector<HeldBytes> all =
      MUST(loop_->block_on(async::when_all(*loop_, std::move(readers))));
  for (std::size_t index = 0; index < all.size(); ++index) {
    EXPECT_EQ(all[index].bytes, content(index * 10'000, 10'000));
  }
  EXPECT_EQ(store_.reads.size(), 1U);
}

TEST_F(PackCacheTest, WhoWaitsGoesBeforeWhatIsExpected) {
  for (std::uint64_t part = 0; part < 20; ++part) cache_.expect(range(part * 10'000, 5'000), 1);
  EXPECT_EQ(read(190'000, 5'000), content(190'000, 5'000));
  EXPECT_EQ(read(900'000, 5'000), content(900'000, 5'000));
  ASSERT_GT(store_.reads.size(), 8U);
  EXPECT_EQ(store_.reads[8], 190'000U) << "expected as the last of twenty";
  EXPECT_EQ(store_.most, PackCache::kRequestsMax);
}

TEST_F(PackCacheTest, WhoHasRangesForAllIsAskedBeforeTheStore) {
  ServerOfLetters all;
  PackCache cache(*loop_, {store_, "data/"}, {.memory = shared_, .server = &all}, {});
  const auto read = [&](std::uint64_t offset) {
    return MUST(loop_->block_on(cache.read(range(offset, 3), range(offset, 3))));
  };
  EXPECT_EQ(read(0).bytes, "sss");
  EXPECT_EQ(MUST(loop_->block_on(cache.read_anew(range(0, 3)))).bytes, "nnn");
  EXPECT_EQ(read(0).bytes, "nnn") << "from memory";
  EXPECT_EQ(store_.reads.size(), 0U);
  all.is_away = true;
  EXPECT_EQ(read(500).bytes, content(500, 3));
  all.is_away = false;
  all.error = Error(Errc::kIo, "its disk");
  EXPECT_EQ(loop_->block_on(cache.read(range(900, 3), range(900, 3))).error().message, "its disk");
  EXPECT_EQ(all.asked, (std::vector<std::uint64_t>{0, 500, 900}));
  EXPECT_TRUE(all.expected.empty());
  all.error.reset();
  cache.expect(range(7'000, 3), 1);
  MUST(loop_->block_on(loop_->sleep(Duration::millis(1))));
  EXPECT_EQ(all.expected, std::vector<std::uint64_t>{7'000}) << "nobody waits for it";
  EXPECT_EQ(all.asked_anew, std::vector<std::uint64_t>{0});
  EXPECT_EQ(store_.reads, std::vector<std::uint64_t>{500});
  MUST(loop_->block_on(cache.close()));
}

TEST_F(PackCacheTest, WhatAnotherProcessExpectsIsBehindWhoWaits) {
  std::vector<Async<HeldBytes>> all;
  for (std::uint64_t part = 0; part < 12; ++part) {
    const ObjectRange wanted = range(part * 10'000, 5'000);
    all.push_back(cache_.read(wanted, wanted, Urgency::kExpected));
  }
  all.push_back(reading(900'000, 5'000));
  const std::vector<HeldBytes> read =
      MUST(loop_->block_on(async::when_all(*loop_, std::move(all))));
  EXPECT_EQ(read.back().bytes, content(900'000, 5'000));
  EXPECT_EQ(read[11].bytes, content(110'000, 5'000));
  EXPECT_EQ(store_.reads.at(PackCache::kRequestsMax), 900'000U);
}

TEST_F(PackCacheTest, SeveralReadersHaveMoreRequestsUnderWay) {
  const auto read_some = [this](std::uint64_t first) {
    std::vector<Async<HeldBytes>> all;
    for (std::uint64_t part = first; part < first + 45; ++part) {
      all.push_back(reading(part * 10'000, 5'000));
    }
    MUST(loop_->block_on(async::when_all(*loop_, std::move(all))));
  };
  cache_.set_readers(3);
  read_some(0);
  EXPECT_EQ(store_.most, 3 * PackCache::kRequestsMax);
  cache_.set_readers(100);
  read_some(50);
  EXPECT_EQ(store_.most, PackCache::kRequestsOfAll);
}

TEST_F(PackCacheTest, ExpectsNoMoreThanHalfOfItself) {
  for (std::uint64_t part = 0; part < 100; ++part) cache_.expect(range(part * 10'000, 10'000), 1);
  read(990'000, 10'000);
  MUST(loop_->block_on(loop_->sleep(Duration::millis(50))));
  EXPECT_EQ(store_.reads.size(), kPackCacheBytes / 2 / 10'000 + 1);
  EXPECT_LE(cache_.bytes(), kPackCacheBytes);
}

TEST_F(PackCacheTest, ForgetsWhatAReaderExpected) {
  for (std::uint64_t part = 0; part < 15; ++part) cache_.expect(range(part * 10'000, 5'000), 1);
  cache_.expect(range(500'000, 5'000), 2);
  cache_.forget(1);
  MUST(loop_->block_on(loop_->sleep(Duration::millis(50))));
  EXPECT_EQ(store_.reads.size(), PackCache::kRequestsMax + 1U)
      << "those under way, and the other's";
  EXPECT_EQ(store_.reads.back(), 500'000U);
}

TEST_F(PackCacheTest, StaysWithinItsBytesAndReadsAgain) {
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint64_t offset = 0; offset < kPackBytes; offset += 50'000) {
      EXPECT_EQ(read(offset, 50'000), content(offset, 50'000));
      EXPECT_LE(cache_.bytes(), kPackCacheBytes);
    }
  }
  EXPECT_EQ(store_.reads.size(), 40U);
}

// Two volumes of one process: what one keeps makes go what the other has not used for longest.
TEST_F(PackCacheTest, SharesItsMemoryWithOtherVolumes) {
  PackCache other(*loop_, {store_, "data/"}, {.memory = shared_}, {});
  const auto read_other = [&](std::uint64_t offset) {
    const ObjectRange wanted = range(offset, 100'000);
    MUST(loop_->block_on(other.read(wanted, wanted)));
  };
  read(0, 100'000);
  read(100'000, 100'000);
  read(0, 100'000);
  for (std::uint64_t offset = 200'000; offset < 500'000; offset += 100'000) read_other(offset);
  EXPECT_EQ(cache_.bytes() + other.bytes(), kPackCacheBytes);
  EXPECT_TRUE(cache_.has(range(0, 100'000))) << "it was used again";
  EXPECT_FALSE(cache_.has(range(100'000, 100'000)));
  MUST(loop_->block_on(other.close()));
}

// As objects of other buckets are, each fetched by itself.
TEST_F(PackCacheTest, CountsWhatShortRangesTake) {
  for (std::uint64_t place = 0; place < 300; ++place) read(place * 1'000, 10);
  EXPECT_LE(cache_.bytes(), kPackCacheBytes);
  read(0, 10);
  EXPECT_EQ(store_.reads.back(), 0U) << "it had to go";
}

// One volume's store that does not answer holds up no other volume.
TEST_F(PackCacheTest, AStoreThatDoesNotAnswerHoldsUpNoOtherVolume) {
  object::MemoryStore away;
  SlowReads silent(*loop_, away);
  silent.pause = Duration::minutes(10);
  async::StopSource stop;
  PackCache dead(*loop_, {silent, "data/"}, {.memory = shared_}, stop.token());
  async::Gate waiting(*loop_);
  for (std::uint64_t part = 0; part < 2 * PackCache::kRequestsMax; ++part) {
    MUST(loop_->spawn(waiting, read_into_nothing(dead, range(part << 23, 8 << 20))));
  }
  cache_.expect(range(0, 100'000), 1);
  EXPECT_EQ(read(500'000, 10'000), content(500'000, 10'000));
  EXPECT_TRUE(cache_.has(range(0, 100'000)));
  EXPECT_EQ(silent.most, PackCache::kRequestsMax) << "as many as a volume may have under way";
  stop.stop();
  MUST(loop_->block_on(waiting.close()));
  MUST(loop_->block_on(dead.close()));
}

TEST_F(PackCacheTest, OfAPackThatIsCutShortTheBeginningIsRead) {
  memory_.objects()["data/" + pack_key(id_)].bytes.resize(60'000);
  const HeldBytes held =
      MUST(loop_->block_on(cache_.read(range(50'000, 10'000), range(0, 100'000))));
  EXPECT_EQ(held.bytes, content(50'000, 10'000));
  const Result<HeldBytes> beyond =
      loop_->block_on(cache_.read(range(59'000, 2'000), range(0, 100'000)));
  ASSERT_FALSE(beyond.ok());
  EXPECT_EQ(beyond.error().code, Errc::kCorrupt);
}

TEST_F(PackCacheTest, AFailureIsToldAndTriedAgain) {
  const object::Object object = std::exchange(memory_.objects()["data/" + pack_key(id_)], {});
  memory_.objects().clear();
  EXPECT_EQ(loop_->block_on(reading(0, 10)).error().code, Errc::kNotFound);
  memory_.objects()["data/" + pack_key(id_)] = object;
  EXPECT_EQ(read(0, 10), content(0, 10));
}

TEST_F(PackCacheTest, ClosingEndsWhatIsUnderWay) {
  for (std::uint64_t part = 0; part < 20; ++part) cache_.expect(range(part * 10'000, 5'000), 1);
  MUST(loop_->block_on(cache_.close()));
  EXPECT_FALSE(loop_->block_on(reading(0, 10)).ok());
}

}  // namespace
}  // namespace runnel::volume
