#include "volume/warm_up.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/aligned_bytes.h"
#include "env/testing/temporary_directory.h"
#include "volume/fetch_plan.h"
#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;

class WarmUpTest : public ::testing::Test {
 protected:
  // By a process of its own each time: a cache that is opened fills none of the segments it finds.
  Result<WarmUp> try_warm_up(const std::string& path, Bytes bytes) {
    const auto cache = data_.run(DiskCache::open(*data_.loop(), {folder_, bytes}));
    Result<WarmUp> done = data_.try_run(
        runnel::volume::warm_up(*data_.loop(), data_.volume(), "latest", path, *cache, {}, {}));
    data_.run(cache->close());
    return done;
  }
  WarmUp warm_up(const std::string& path, Bytes bytes) { return MUST(try_warm_up(path, bytes)); }

  testing::MemoryVolume data_;
  env::testing::TemporaryDirectory temporary_;
  const std::string folder_ = temporary_.path() + "/cache";
};

TEST_F(WarmUpTest, WhatComesTakesThePlaceOfNothingThatIsWanted) {
  constexpr std::size_t kMost = 50 << 20;  // Of the 64 MiB of a segment.
  const Bytes four_segments = Bytes::mebi(256);
  data_.put({{"b/long", testing::noise(kMost, 1)}});
  data_.put({{"c/1", testing::noise(1'000, 2)},
             {"c/2", testing::noise(1'000, 3)},
             {"c/3", testing::noise(1'000, 4)}});
  data_.put({{"a/long", testing::noise(kMost, 5)}});
  for (const std::string path : {"b", "c/1", "c/2", "c/3"}) warm_up(path, four_segments);
  const WarmUp all = warm_up("", four_segments);
  EXPECT_EQ(all.files, 5);
  EXPECT_GE(all.fetched, std::int64_t{kMost});
  const WarmUp again = warm_up("", four_segments);
  EXPECT_EQ(again.fetched, 0) << "all of it is there";
  EXPECT_EQ(again.bytes, all.bytes);
}

// Each of the few lies between two others of the pack, too long to be fetched with it.
TEST_F(WarmUpTest, RefusesWhatLiesInMorePlacesThanTheCacheHas) {
  Contents all;
  Contents few;
  for (int number = 0; number < 1'700; ++number) {
    const std::string name = std::to_string(10'000 + number);
    const auto seed = static_cast<std::uint64_t>(number);
    all["all/" + name + "/between"] = testing::noise(kFetchGapMax + 1'000, 10'000 + seed);
    all["all/" + name + "/few"] = few["few/" + name] = testing::noise(100, seed);
  }
  data_.put(all);
  data_.put(few);
  const Error error = try_warm_up("few", Bytes::mebi(128)).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.field, "cache-size");
  EXPECT_EQ(warm_up("few", Bytes::mebi(256)).files, 1'700);
  EXPECT_EQ(warm_up("few", Bytes::mebi(256)).fetched, 0);
}

TEST_F(WarmUpTest, WhatReadersHaveBroughtInOtherRangesIsNotFetchedAgain) {
  data_.put({{"long", testing::noise(20 << 20, 1)}});
  auto cache = data_.run(DiskCache::open(*data_.loop(), {folder_, Bytes::mebi(256)}));
  Snapshot snapshot = data_.run(data_.volume().snapshot("latest"));
  const Snapshot::Found found = data_.run(snapshot.at("long"));
  const VolumeKey key = volume_key_of(snapshot.manifest().uuid);
  std::int64_t missing = 0;
  for (const Extent& extent : data_.run(snapshot.extents(found.inode, found.node))) {
    const ObjectRange range{extent.pack, extent.offset, extent.stored};
    const bool is_first = range.offset < 1 << 20;
    if (is_first) missing += static_cast<std::int64_t>(range.length);
    if (is_first) continue;
    const auto bytes = std::make_shared<env::AlignedBytes>(range.length);
    data_.run(data_.volume().ranges().read(range, bytes->span(), {}));
    EXPECT_TRUE(cache->keep(key, range, bytes, DiskCache::Waits::kYes));
  }
  data_.run(cache->settle());
  ASSERT_GT(missing, 0);
  const WarmUp done = data_.run(
      runnel::volume::warm_up(*data_.loop(), data_.volume(), "latest", "", *cache, {}, {}));
  data_.run(cache->close());
  cache.reset();
  EXPECT_EQ(done.fetched, missing);
  EXPECT_EQ(warm_up("", Bytes::mebi(256)).fetched, 0);
}

TEST_F(WarmUpTest, CountsWhatFilesShareOnce) {
  const std::string bytes = testing::noise(4 << 20, 1);
  Contents files;
  for (int number = 0; number < 8; ++number) files["copy " + std::to_string(number)] = bytes;
  data_.put(files);
  const WarmUp done = warm_up("", Bytes::mebi(128));
  EXPECT_EQ(done.files, 8);
  EXPECT_LT(done.bytes, 5 << 20);
}

}  // namespace
}  // namespace runnel::volume
